"""The loops of `engine`: remove, give back, swap. They know threats and things by number only."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, no-untyped-call"

from __future__ import annotations

import numpy as np

from reticent.compiling import compiled, inner

_AT_ONCE = 1_000_000_000  # looks at threats, a second or two: Ctrl-C is heard only in between


@compiled
def missing(begins, items, gone):
    """How often things of each threat are gone; `gone` says so of each thing."""
    found = np.zeros(len(begins) - 1, np.int64)
    for t in range(len(found)):
        for x in range(begins[t], begins[t + 1]):
            found[t] += gone[items[x]]
    return found


@inner
def dearer(a, b, c, d):
    """Whether a * b > c * d, for numbers from 0 to 2^62, exactly: products may take 128 bits."""
    if max(a, c) < 2147483648 and max(b, d) < 2147483648:
        return a * b > c * d
    low, half = np.uint64(4294967295), np.uint64(32)
    high_one, low_one = _product(np.uint64(a), np.uint64(b), low, half)
    high_two, low_two = _product(np.uint64(c), np.uint64(d), low, half)
    return high_one > high_two or (high_one == high_two and low_one > low_two)


@inner
def _product(a, b, low, half):
    """The upper and lower 64 bits."""
    first, second = (a & low) * (b & low), (a >> half) * (b & low)
    third, fourth = (a & low) * (b >> half), (a >> half) * (b >> half)
    middle = (first >> half) + (second & low) + (third & low)
    upper = fourth + (second >> half) + (third >> half) + (middle >> half)
    return upper, (middle << half) | (first & low)


@inner
def _better(v, w, left, alone, costs):
    """Whether thing v goes before thing w."""
    if (alone[v] > 0) != (alone[w] > 0):
        return alone[v] > 0
    if dearer(left[v], costs[w], left[w], costs[v]):
        return True
    return v < w and not dearer(left[w], costs[v], left[v], costs[w])


@inner
def _sink(heap, size, at, left, alone, costs):
    """Let what stands somewhere in a heap go down to where it belongs."""
    v = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and _better(heap[child + 1], heap[child], left, alone, costs):
            child += 1
        if not _better(heap[child], v, left, alone, costs):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = v


@compiled
def remove(begins, items, holders, of_holder, costs, needs, room, dear):
    """What goes, and how often, until each threat has lost what it needs; or a `dear` thing went.

    `of_holder[holders[v] : holders[v + 1]]`: the threats that hold thing v. `room`: how often each
    thing can still go. Taking a thing once changes nothing for the next choice until some threat
    has lost enough, so it goes as often as that takes at once. Changes `needs` and `room`. Things
    stand in a heap by what they were worth when last asked: that only falls, so one that is still
    worth as much as it was is the best. After much work it returns before its time; whoever calls
    it goes on from there.
    """
    things, threats = len(costs), len(begins) - 1
    left = np.zeros(things, np.int64)  # threats that each would help to break
    alone = np.zeros(things, np.int64)  # threats that nothing else can break
    for t in range(threats):
        if needs[t] <= 0:
            continue
        for x in range(begins[t], begins[t + 1]):
            left[items[x]] += 1
        if begins[t + 1] - begins[t] == 1:
            alone[items[begins[t]]] += 1
    was, was_alone = left.copy(), alone.copy()
    heap, size = np.empty(things, np.int32), 0
    for v in range(things):
        if left[v] > 0 and room[v] > 0:
            heap[size] = v
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sink(heap, size, at, was, was_alone, costs)
    order, often = np.empty(things + threats, np.int64), np.empty(things + threats, np.int64)
    went, work = 0, np.int64(0)
    while size > 0 and work < _AT_ONCE:
        best = heap[0]
        if left[best] == 0 or room[best] == 0:
            size -= 1
            heap[0] = heap[size]
            _sink(heap, size, 0, was, was_alone, costs)
            continue
        if was[best] != left[best] or was_alone[best] != alone[best]:
            was[best], was_alone[best] = left[best], alone[best]
            _sink(heap, size, 0, was, was_alone, costs)
            continue
        times = room[best]
        for y in range(holders[best], holders[best + 1]):
            if needs[of_holder[y]] > 0:
                times = min(times, needs[of_holder[y]])
        order[went], often[went] = best, times
        went += 1
        room[best] -= times
        work += holders[best + 1] - holders[best]
        for y in range(holders[best], holders[best + 1]):
            t = of_holder[y]
            if needs[t] > 0:
                needs[t] -= times
                if needs[t] == 0:
                    work += begins[t + 1] - begins[t]
                    for x in range(begins[t], begins[t + 1]):
                        left[items[x]] -= 1
                    alone[best] -= begins[t + 1] - begins[t] == 1
        if dear[best]:
            break
    return order[:went], often[:went]


@inner
def _take(v, holders, of_holder, missing, sole, needed):
    """Thing v goes."""
    for y in range(holders[v], holders[v + 1]):
        t = of_holder[y]
        missing[t] += 1
        sole[t] += v
        if missing[t] == 1:
            needed[v] += 1
        elif missing[t] == 2:
            needed[sole[t] - v] -= 1


@inner
def _give(v, holders, of_holder, missing, sole, needed, open_):
    """Thing v comes back; how many threats that leaves open, which are listed in `open_`."""
    found = 0
    for y in range(holders[v], holders[v + 1]):
        t = of_holder[y]
        missing[t] -= 1
        sole[t] -= v
        if missing[t] == 1:
            needed[sole[t]] += 1
        elif missing[t] == 0:
            needed[v] -= 1
            open_[found] = t
            found += 1
    return found


@compiled
def improve(begins, items, holders, of_holder, costs, gone, work, seed):
    """Swap things that are gone for cheaper ones, until so much work is done; changes `gone`.

    One thing comes back, whatever it opens is closed by others, and what is then needed no longer
    comes back as well. A result that is little worse is gone on from, the less so the later; the
    best one is kept. `sole[t]` adds up the things of threat t that are gone: where that is one
    thing, it is that thing, and `needed` counts such threats for each.
    """
    things, threats = len(costs), len(begins) - 1
    missing, sole = np.zeros(threats, np.int32), np.zeros(threats, np.int64)
    needed, forced = np.zeros(things, np.int64), np.zeros(things, np.bool_)
    for t in range(threats):
        if begins[t + 1] - begins[t] == 1:
            forced[items[begins[t]]] = True
    now = gone.copy()
    cost = 0.0
    free = np.empty(things, np.int64)  # things that are gone and may come back
    place = np.full(things, -1, np.int64)
    count = 0
    for v in range(things):
        if now[v]:
            _take(v, holders, of_holder, missing, sole, needed)
            cost += costs[v]
            if not forced[v]:
                free[count], place[v] = v, count
                count += 1
    if count == 0:
        return cost
    best = cost
    typical = 0.0
    for i in range(count):
        typical += costs[free[i]] / count
    open_ = np.empty(max(threats, 1), np.int64)
    gain, met = np.zeros(things, np.int64), np.empty(things, np.int64)
    moves = np.empty(4 * things + 8, np.int64)  # +v + 1: went, -v - 1: came back
    state, done = np.uint64(seed), np.int64(0)
    while done < work and count > 0:
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        v = free[np.int64(state % np.uint64(count))]
        made, before = 0, cost
        left = _give(v, holders, of_holder, missing, sole, needed, open_)
        done += holders[v + 1] - holders[v]
        now[v] = False
        cost -= costs[v]
        moves[made] = -v - 1
        made += 1
        stuck = False
        while left > 0 and not stuck:
            found = 0
            for i in range(left):
                t = open_[i]
                for x in range(begins[t], begins[t + 1]):
                    u = items[x]
                    if u != v and not now[u]:
                        if gain[u] == 0:
                            met[found] = u
                            found += 1
                        gain[u] += 1
            done += 2 * left
            pick, score = -1, -1.0
            for i in range(found):
                u = met[i]
                state ^= state << np.uint64(13)
                state ^= state >> np.uint64(7)
                state ^= state << np.uint64(17)
                luck = 0.85 + 0.3 * np.float64(state >> np.uint64(11)) / 9007199254740992.0
                worth = luck * gain[u] / max(costs[u], 1e-9)
                if worth > score:
                    pick, score = u, worth
                gain[u] = 0
            if pick < 0:
                stuck = True  # a threat of v alone with what cannot go
                break
            _take(pick, holders, of_holder, missing, sole, needed)
            done += holders[pick + 1] - holders[pick]
            now[pick] = True
            cost += costs[pick]
            moves[made] = pick + 1
            made += 1
            kept = 0
            for i in range(left):
                if missing[open_[i]] == 0:
                    open_[kept] = open_[i]
                    kept += 1
            left = kept
        # What is needed no longer, the dearest first.
        while not stuck:
            pick = -1
            for i in range(count):
                u = free[i]
                if now[u] and needed[u] == 0 and (pick < 0 or costs[u] > costs[pick]):
                    pick = u
            for i in range(1, made):
                u = moves[i] - 1
                if u >= 0 and now[u] and needed[u] == 0 and (pick < 0 or costs[u] > costs[pick]):
                    pick = u
            if pick < 0 or made + 2 >= len(moves):
                break
            _give(pick, holders, of_holder, missing, sole, needed, open_)
            done += holders[pick + 1] - holders[pick]
            now[pick] = False
            cost -= costs[pick]
            moves[made] = -pick - 1
            made += 1
        done += count
        slack = 4.0 * typical * max(0.0, 1.0 - done / work)
        if stuck or cost > best + slack or (cost > before and cost - before > slack):
            for i in range(made - 1, -1, -1):
                if moves[i] < 0:
                    u = -moves[i] - 1
                    _take(u, holders, of_holder, missing, sole, needed)
                    now[u] = True
                else:
                    u = moves[i] - 1
                    _give(u, holders, of_holder, missing, sole, needed, open_)
                    now[u] = False
                done += holders[u + 1] - holders[u]
            cost = before
            continue
        for i in range(made):
            u = abs(moves[i]) - 1
            if now[u] and place[u] < 0:
                free[count], place[u] = u, count
                count += 1
            elif not now[u] and place[u] >= 0:
                last = free[count - 1]
                free[place[u]], place[last] = last, place[u]
                place[u] = -1
                count -= 1
        if cost < best - 1e-9:
            best = cost
            for thing in range(things):
                gone[thing] = now[thing]
    return best
