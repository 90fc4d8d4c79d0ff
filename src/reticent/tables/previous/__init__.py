"""Earlier releases about the same people: read, checked, laid beside the table."""
