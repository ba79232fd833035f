package dialogue

import (
	"container/list"
	"time"
)

// add stores a new dialogue as half open, and removes the dialogues that exceed the bounds.
func (d *Dialogues) add(g *Dialogue, now time.Time) *Dialogue {
	if of := d.opponents[g.name.opponent]; of != nil && of.Len() >= d.limits.PerOpponent {
		d.displace(of)
	}
	of := d.opponents[g.name.opponent]
	if of == nil {
		of = list.New()
		d.opponents[g.name.opponent] = of
	}
	d.byName[g.name] = g
	g.ofOpponent = of.PushBack(g)
	d.place(g, halfOpen)
	g.used = now
	return g
}

// use records a message of the dialogue, which now has this rank.
func (d *Dialogues) use(g *Dialogue, to rank, now time.Time) {
	g.used = now
	if d.byName[g.name] != g { // removed meanwhile
		return
	}
	if to == ended {
		if !g.name.protocol.Rules.KeepsEnded {
			d.forget(g)
			return
		}
		d.leaveOpponent(g)
	} else {
		d.opponents[g.name.opponent].MoveToBack(g.ofOpponent)
	}
	d.ranks[g.rank].Remove(g.ofRank)
	d.place(g, to)
}

// place appends a dialogue to the list of its rank, and removes others that exceed the bounds.
func (d *Dialogues) place(g *Dialogue, to rank) {
	if d.ranks[to].Len() >= [...]int{halfOpen: d.limits.HalfOpen, open: d.limits.Open, ended: d.limits.Ended}[to] {
		d.displace(&d.ranks[to])
	}
	g.rank = to
	g.ofRank = d.ranks[to].PushBack(g)
}

// displace removes the dialogue of a list that was used least recently.
func (d *Dialogues) displace(from *list.List) {
	if g, ok := from.Front().Value.(*Dialogue); ok {
		d.forget(g)
		if g.rank != ended {
			d.counts.Displaced++
		}
	}
}

// expire removes dialogues that were not used within their time.
func (d *Dialogues) expire(now time.Time) {
	for r := range d.ranks {
		for e := d.ranks[r].Front(); e != nil; e = d.ranks[r].Front() {
			g, ok := e.Value.(*Dialogue)
			if !ok || now.Sub(g.used) < d.limits.TTL {
				break
			}
			d.forget(g)
			if g.rank != ended {
				d.counts.Expired++
			}
		}
	}
}

// forget hides a dialogue from messages. Its holders may still reply.
func (d *Dialogues) forget(g *Dialogue) {
	delete(d.byName, g.name)
	d.ranks[g.rank].Remove(g.ofRank)
	d.leaveOpponent(g)
}

// leaveOpponent removes a dialogue from the count of its opponent.
func (d *Dialogues) leaveOpponent(g *Dialogue) {
	of := d.opponents[g.name.opponent]
	if g.ofOpponent == nil || of == nil {
		return
	}
	of.Remove(g.ofOpponent)
	if g.ofOpponent = nil; of.Len() == 0 {
		delete(d.opponents, g.name.opponent)
	}
}
