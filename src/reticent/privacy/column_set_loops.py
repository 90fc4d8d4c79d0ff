"""The inner loops that count which rows some columns tell from all others.

Rows are kept in runs: those equal in two columns stand together. A row that no other equals in some
columns is equal to none in more of them, so it is counted once and left out of all that follows.
`several[row]` says that a row stands for more than one record; an empty array, that none does.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

from reticent.compiling import compiled


@compiled
def placed(codes, cursors, into):
    """Put rows in the order of their codes; a code whose cursor is negative is left out."""
    count = 0
    for row in range(len(codes)):
        at = cursors[codes[row]]
        if at >= 0:
            into[at] = row
            cursors[codes[row]] = at + 1
            count += 1
    return count


@compiled
def runs_of_two(rows, first, second, starts, cursors, several, into, ends):
    """Leave in `into` the rows that some other equals in both columns, equal ones side by side.

    `rows` stand in the order of `first`; rows alone in it are not among them, and where a value of
    `second` belongs to one record its start is negative. Returns how many of them stand alone now,
    how many are left, and in how many runs; `ends` are theirs.
    """
    alone = 0
    for value in range(len(starts)):
        cursors[value] = starts[value]
    for i in range(len(rows)):
        value = second[rows[i]]
        at = cursors[value]
        if at < 0:
            alone += 1
        else:
            into[at] = rows[i]
            cursors[value] = at + 1
    kept = 0
    runs = 0
    for value in range(len(starts)):
        i = max(starts[value], 0)
        last = cursors[value]
        while i < last:
            code = first[into[i]]
            j = i + 1
            while j < last and first[into[j]] == code:
                j += 1
            if j == i + 1 and not (len(several) and several[into[i]]):
                alone += 1
            else:
                for k in range(i, j):
                    into[kept] = into[k]
                    kept += 1
                ends[runs] = kept
                runs += 1
            i = j
    return alone, kept, runs


@compiled
def alone_in_runs(rows, ends, runs, codes, several, seen):
    """How many rows in runs no other of their run equals in one more column; and how many groups.

    `seen` has room for every code, all zero, and is left so.
    """
    alone = 0
    groups = 0
    i = 0
    for run in range(runs):
        once = 2 * run + 1
        while i < ends[run]:
            code = codes[rows[i]]
            if seen[code] < once:
                groups += 1
                if len(several) and several[rows[i]]:
                    seen[code] = once + 1
                else:
                    seen[code] = once
                    alone += 1
            elif seen[code] == once:
                seen[code] = once + 1
                alone -= 1
            i += 1
    for code in range(len(seen)):
        seen[code] = 0
    return alone, groups
