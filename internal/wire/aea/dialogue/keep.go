package dialogue

import (
	"container/list"
	"time"
)

// add stores a new dialogue as half open. If a limit is reached, it removes an older dialogue.
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

// use records that a message of the dialogue was sent or received, and moves the dialogue to the given rank.
func (d *Dialogues) use(g *Dialogue, to rank, now time.Time) {
	g.used = now
	if d.byName[g.name] != g { // removed in the meantime
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

// place appends a dialogue to the list of a rank. If the list is full, it removes the dialogue that has been idle longest.
func (d *Dialogues) place(g *Dialogue, to rank) {
	if d.ranks[to].Len() >= [...]int{halfOpen: d.limits.HalfOpen, open: d.limits.Open, ended: d.limits.Ended}[to] {
		d.displace(&d.ranks[to])
	}
	g.rank = to
	g.ofRank = d.ranks[to].PushBack(g)
}

// displace removes the dialogue of a list that has been idle longest.
func (d *Dialogues) displace(from *list.List) {
	if g, ok := from.Front().Value.(*Dialogue); ok {
		d.forget(g)
		if g.rank != ended {
			d.counts.Displaced++
		}
	}
}

// expire removes the dialogues that have been idle for the TTL.
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

// forget removes a dialogue, so that it receives no more messages. Code that still holds the dialogue can reply to it.
func (d *Dialogues) forget(g *Dialogue) {
	delete(d.byName, g.name)
	d.ranks[g.rank].Remove(g.ofRank)
	d.leaveOpponent(g)
}

// leaveOpponent removes a dialogue from the list of its opponent.
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
