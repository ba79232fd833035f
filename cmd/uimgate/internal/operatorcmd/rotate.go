package operatorcmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	"github.com/uimgate/uimgate/gateway/admin/agreements"
	"github.com/uimgate/uimgate/gateway/admin/api"
	"github.com/uimgate/uimgate/gateway/admin/client"
	"github.com/uimgate/uimgate/gateway/admin/operation"
	"github.com/uimgate/uimgate/pat/keys"
)

const (
	// rotationWait is how long rotate waits for the new keys of the other processes. Running processes create them within a second.
	rotationWait = 3 * time.Second
	rotationPoll = 200 * time.Millisecond
)

// rotateAll makes every process create new keys, and returns the newest key of each process, purpose and algorithm. A process that does not
// run still has its previous key, with the time at which it ends.
func rotateAll(ctx context.Context, gateway *client.Client) (api.Page[agreements.Key], error) {
	before, err := client.Do(ctx, gateway, operation.Keys, operation.None{})
	if err != nil {
		return before, err
	}
	if _, err := client.Do(ctx, gateway, operation.RotateKey, agreements.Rotation{All: true}); err != nil {
		return api.Page[agreements.Key]{}, err
	}
	end := time.NewTimer(rotationWait)
	defer end.Stop()
	for {
		after, err := client.Do(ctx, gateway, operation.Keys, operation.None{})
		if err != nil {
			return after, err
		}
		list, complete := rotated(before.Items, after.Items)
		if complete {
			return api.Page[agreements.Key]{Items: list}, nil
		}
		select {
		case <-end.C:
			return api.Page[agreements.Key]{Items: list}, nil
		case <-ctx.Done():
			return api.Page[agreements.Key]{}, ctx.Err()
		case <-time.After(rotationPoll):
		}
	}
}

// A signer is a process that signs for a purpose with an algorithm. A process has a key of each algorithm for its cards.
type signer struct {
	process   string
	purpose   keys.Purpose
	algorithm string
}

func signerOf(k agreements.Key) signer { return signer{k.Process, k.Purpose, k.Algorithm} }

// rotated returns the newest key of each signer, before or after a rotation, ordered by process. complete reports whether all of these keys
// are new.
func rotated(before, after []agreements.Key) (list []agreements.Key, complete bool) {
	old := map[keys.ID]bool{}
	signs := map[signer]bool{}
	lasting := func(k agreements.Key) bool { return k.Purpose.Lasting() } // a rotation does not replace such keys
	before, after = slices.DeleteFunc(slices.Clone(before), lasting), slices.DeleteFunc(slices.Clone(after), lasting)
	for _, k := range before {
		old[k.ID] = true
		signs[signerOf(k)] = signs[signerOf(k)] || k.NotAfter.IsZero()
	}
	newest := map[signer]agreements.Key{}
	for _, k := range after {
		of := signerOf(k)
		if was, ok := newest[of]; (signs[of] || k.NotAfter.IsZero()) && (!ok || k.CreatedAt.After(was.CreatedAt)) {
			newest[of] = k
		}
	}
	complete = true
	for _, k := range newest {
		complete = complete && !old[k.ID]
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b agreements.Key) int {
		return cmp.Or(strings.Compare(a.Process, b.Process), cmp.Compare(a.Purpose, b.Purpose), cmp.Compare(a.Algorithm, b.Algorithm))
	})
	return list, complete
}

// printAbsent prints the processes that still have their previous keys.
func printAbsent(w io.Writer, list []agreements.Key) {
	absent := ""
	for _, k := range list { // by process
		if !k.NotAfter.IsZero() && k.Process != absent {
			absent = k.Process
			fmt.Fprintf(w, "Process %s has not created a new key yet: it will create one when it starts.\n", cli.Sanitize(absent))
		}
	}
}
