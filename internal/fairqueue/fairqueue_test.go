package fairqueue_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uimgate/uimgate/internal/fairqueue"
)

// now returns a context with which Take does not wait.
func now(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// takes takes as many places as a party gets without waiting.
func takes(t *testing.T, s *fairqueue.Places, of fairqueue.Party) (leave []func()) {
	t.Helper()
	for {
		one, err := s.Take(now(t), of)
		if err != nil {
			return leave
		}
		leave = append(leave, one)
	}
}

func known(name string) fairqueue.Party      { return fairqueue.Party{Name: name} }
func unapproved(name string) fairqueue.Party { return fairqueue.Party{Name: name, Unapproved: true} }

func TestNoPartyTakesAllPlaces(t *testing.T) {
	for _, places := range []int{1, 2, 3, 12, 1000} {
		s := fairqueue.New(fairqueue.Bounds{Places: places, Waiting: 1, Wait: time.Minute})
		for i := range 4 {
			got, want := len(takes(t, s, known(fmt.Sprint(i)))), (places+1)/2
			if i == 0 && got != want {
				t.Errorf("of %d places the only party got %d; want %d", places, got, want)
			}
			if i == 1 && places > 1 && got == 0 {
				t.Errorf("of %d places the second party got none", places)
			}
			places -= got
		}
	}
	s := fairqueue.New(fairqueue.Bounds{Places: 100, Waiting: 1, Wait: time.Minute})
	held := takes(t, s, known("a"))
	for range 25 {
		held[0]()
		held = held[1:]
	}
	if got := len(takes(t, s, known("a"))); got != 25 {
		t.Errorf("%d of 25 released places", got)
	}
}

func TestUnapprovedLeaveAQuarterToOthers(t *testing.T) {
	s := fairqueue.New(fairqueue.Bounds{Places: 100, Waiting: 1, Wait: time.Minute})
	got := 0
	for i := range 1000 {
		got += len(takes(t, s, unapproved(fmt.Sprint(i))))
	}
	if got != 75 {
		t.Errorf("a thousand strangers hold %d of 100 places, want 75", got)
	}
	if got := len(takes(t, s, known("a"))); got != 13 { // half of the rest
		t.Errorf("a known party gets %d, want 13", got)
	}
}

// waits starts n calls that wait one after another, and sends the name of each call that gets a place. A call releases its place when it
// receives from done.
func waits(t *testing.T, s *fairqueue.Places, of fairqueue.Party, n int, got chan<- string, done <-chan struct{}) {
	t.Helper()
	for range n {
		_, before := s.Counts()
		go func() {
			leave, err := s.Take(t.Context(), of)
			if err != nil {
				got <- "no " + of.Name
				return
			}
			got <- of.Name
			<-done
			leave()
		}()
		for _, waiting := s.Counts(); waiting == before; _, waiting = s.Counts() {
			if t.Context().Err() != nil {
				t.Fatal("no call waits")
			}
		}
	}
}

func TestWaitingPartiesAreServedInTurn(t *testing.T) {
	s := fairqueue.New(fairqueue.Bounds{Places: 1, Waiting: 100, Wait: time.Hour})
	leave, err := s.Take(t.Context(), known("first"))
	if err != nil {
		t.Fatal(err)
	}
	got, done := make(chan string), make(chan struct{})
	waits(t, s, known("a"), 5, got, done)
	waits(t, s, unapproved("b"), 2, got, done)
	waits(t, s, known("c"), 1, got, done)
	leave()
	var order []string
	for range 8 {
		order = append(order, <-got)
		done <- struct{}{}
	}
	if want := []string{"a", "b", "c", "a", "b", "a", "a", "a"}; !slices.Equal(order, want) {
		t.Errorf("served %v; want %v", order, want)
	}
}

func TestQueueIsSharedAndUnapprovedAreEvicted(t *testing.T) {
	s := fairqueue.New(fairqueue.Bounds{Places: 1, Waiting: 8, Wait: time.Hour})
	leave, err := s.Take(t.Context(), known("first"))
	if err != nil {
		t.Fatal(err)
	}
	got, done := make(chan string, 20), make(chan struct{})
	close(done)
	waits(t, s, unapproved("b"), 4, got, done)
	refused := func(of fairqueue.Party) {
		t.Helper()
		if _, err := s.Take(t.Context(), of); !errors.Is(err, fairqueue.ErrFull) {
			t.Errorf("%v: got %v, want %v", of, err, fairqueue.ErrFull)
		}
	}
	refused(unapproved("b")) // half of the queue
	waits(t, s, unapproved("c"), 2, got, done)
	refused(unapproved("d")) // three quarters are unapproved
	waits(t, s, known("a"), 2, got, done)
	for range 3 { // the queue is full: each evicts a call of the unapproved party with the most waits
		go func() {
			leave, err := s.Take(t.Context(), known("e"))
			if err == nil {
				leave()
			}
		}()
		if name := <-got; name != "no b" && name != "no c" {
			t.Error(name)
		}
	}
	leave()
	for range 5 {
		if name := <-got; name == "no a" {
			t.Error(name)
		}
	}
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := fairqueue.New(fairqueue.Bounds{Places: 1, Waiting: 10, Wait: 2 * time.Second})
		leave, err := s.Take(t.Context(), known("a"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if _, err := s.Take(t.Context(), known("b")); !errors.Is(err, fairqueue.ErrFull) || time.Since(began) != 2*time.Second {
			t.Errorf("got %v, %v; want %v, %v", err, time.Since(began), fairqueue.ErrFull, 2*time.Second)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Take(ctx, known("b")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
		}
		leave()
		if held, waiting := s.Counts(); held != 0 || waiting != 0 {
			t.Errorf("got %v, %v; want 0, 0", held, waiting)
		}
	})
}

func TestConcurrentTakes(t *testing.T) {
	s := fairqueue.New(fairqueue.Bounds{Places: 7, Waiting: 9, Wait: time.Millisecond})
	var held, most, served atomic.Int64
	var all sync.WaitGroup
	for i := range 30 {
		of := fairqueue.Party{Name: fmt.Sprint(i % 6), Unapproved: i%2 == 0}
		all.Go(func() {
			for range 300 {
				ctx, cancel := context.WithCancel(t.Context())
				if rand.IntN(3) == 0 {
					cancel()
				}
				if leave, err := s.Take(ctx, of); err == nil {
					most.Store(max(most.Load(), held.Add(1)))
					served.Add(1)
					held.Add(-1)
					leave()
				}
				cancel()
			}
		})
	}
	all.Wait()
	if n, waiting := s.Counts(); most.Load() > 7 || n != 0 || waiting != 0 || served.Load() == 0 || s.Parties() != 0 {
		t.Errorf("at most %d at once, %d served; left: %d, %d waiting, %d parties", most.Load(), served.Load(), n, waiting, s.Parties())
	}
}
