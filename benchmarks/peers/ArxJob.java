import java.io.IOException;
import java.nio.charset.StandardCharsets;

import org.deidentifier.arx.ARXAnonymizer;
import org.deidentifier.arx.ARXConfiguration;
import org.deidentifier.arx.ARXResult;
import org.deidentifier.arx.AttributeType;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.Data;
import org.deidentifier.arx.criteria.KAnonymity;
import org.deidentifier.arx.metric.Metric;

/**
 * One job of ARX: read a CSV file, make it k-anonymous, write a CSV file.
 *
 * <pre>java -cp ARX.jar ArxJob.java TABLE OUT HIERARCHIES K LIMIT loss|class QUASI,… KEPT,…</pre>
 *
 * LIMIT is the share of records that may be suppressed; ARX writes those with every quasi-identifier
 * as "*". With "class", ARX is told which column is to be predicted and searches for that.
 */
public class ArxJob {

    private static final int NOTHING_BACK = 3;
    private static final String RESPONSE = "class";

    public static void main(String[] args) throws IOException {
        Data data = Data.create(args[0], StandardCharsets.UTF_8, ',');
        for (String name : args[6].split(",")) {
            String hierarchy = args[2] + "/adult_hierarchy_" + name + ".csv";
            data.getDefinition().setAttributeType(
                name, Hierarchy.create(hierarchy, StandardCharsets.UTF_8, ';'));
        }
        for (String name : args[7].split(",")) { // undeclared columns would be removed
            data.getDefinition().setAttributeType(name, AttributeType.INSENSITIVE_ATTRIBUTE);
        }

        ARXConfiguration settings = ARXConfiguration.create();
        settings.addPrivacyModel(new KAnonymity(Integer.parseInt(args[3])));
        settings.setSuppressionLimit(Double.parseDouble(args[4]));
        if (args[5].equals("class")) {
            data.getDefinition().setResponseVariable(RESPONSE, true);
            settings.setQualityModel(Metric.createClassificationMetric());
        } else {
            settings.setQualityModel(Metric.createLossMetric());
        }

        ARXResult result = new ARXAnonymizer().anonymize(data, settings);
        if (!result.isResultAvailable()) {
            System.exit(NOTHING_BACK);
        }
        result.getOutput().save(args[1], ',');
    }
}
