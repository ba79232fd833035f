package record

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/uimgate/uimgate/store"
)

// Unsaved returns the minutes whose sums have grown since Saved, and their hours, as the store keeps them. It returns at most 100 minutes,
// the oldest first. Hours that it returns have the sums of all their minutes.
func (f *Figures) Unsaved(process string) ([]store.CallFigures, error) {
	now := f.now().UTC().Truncate(time.Minute)
	var list []store.CallFigures
	hours := map[time.Time]bool{}
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := now.Add(-(figureMinutes - 1) * time.Minute); !at.After(now) && len(list) < maxUnsaved; at = at.Add(time.Minute) {
		p := &f.minutes[indexOf(at)]
		if !p.At.Equal(at) || p.Calls == p.saved {
			continue
		}
		hours[at.Truncate(time.Hour)] = true
		if now.Sub(at) >= store.MinuteFiguresKept {
			continue // Saved marks it with its hour
		}
		one, err := p.stored(process, time.Minute)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	for at := range hours {
		sum := f.sum(at, time.Hour)
		one, err := sum.stored(process, time.Hour)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// maxUnsaved bounds the minutes that Unsaved returns.
const maxUnsaved = 100

func (p *FigurePoint) stored(process string, length time.Duration) (store.CallFigures, error) {
	text, err := json.Marshal(p)
	return store.CallFigures{Length: length, At: p.At, Process: process, Sums: text}, err
}

// Saved records that the store has the sums that Unsaved returned.
func (f *Figures) Saved(list []store.CallFigures) {
	now := f.now().UTC().Truncate(time.Minute)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range list {
		if one.Length == time.Hour {
			f.savedHour(one.At, now)
			continue
		}
		var s FigurePoint
		if p := &f.minutes[indexOf(one.At)]; p.At.Equal(one.At) && json.Unmarshal(one.Sums, &s) == nil {
			p.saved = s.Calls
		}
	}
}

// savedHour records that the store has an hour whose minutes it no longer keeps. The caller must hold mu.
func (f *Figures) savedHour(hour, now time.Time) {
	for at := hour; at.Before(hour.Add(time.Hour)) && now.Sub(at) >= store.MinuteFiguresKept; at = at.Add(time.Minute) {
		if p := &f.minutes[indexOf(at)]; p.At.Equal(at) {
			p.saved = p.Calls
		}
	}
}

// Add adds the stored sums of other processes to points of the same length. It ignores periods that have no point.
func Add(points []FigurePoint, stored []store.CallFigures) error {
	for _, one := range stored {
		var s FigurePoint
		if err := json.Unmarshal(one.Sums, &s); err != nil {
			return fmt.Errorf("the stored figures of %s: %w", one.Process, err)
		}
		if i := slices.IndexFunc(points, func(p FigurePoint) bool { return p.At.Equal(one.At) }); i >= 0 {
			points[i].add(&s)
		}
	}
	return nil
}
