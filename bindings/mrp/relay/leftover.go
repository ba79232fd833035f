package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.uber.org/zap"
)

// A killed process can leave files behind: an unfinished upload, a blob whose record was not yet created, or a blob whose record was
// already deleted. Such files have no owner, and clean deletes them.
const (
	// abandoned is the age at which a file without an owner is deleted. An upload takes much less time, and its record is created
	// immediately afterwards.
	abandoned = time.Hour
	// cleanAfter is the delay before the first cleaning. It gives the operator time to stop a relay that was started with the wrong
	// database, before the relay deletes the blobs that this database does not contain.
	cleanAfter = 10 * time.Minute
	cleanEvery = time.Hour
	cleanStep  = 256 // files at a time: a directory may have millions
)

// clean deletes files without an owner at regular intervals, until ctx ends.
func (r *Relay) clean(ctx context.Context) {
	next := time.NewTimer(cleanAfter)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		r.cleanOnce(ctx)
		next.Reset(cleanEvery)
	}
}

func (r *Relay) cleanOnce(ctx context.Context) {
	n, err := r.blobs.clean(r.now().Add(-abandoned), func(ids []string) ([]string, error) { return r.store.UnknownBlobs(ctx, ids) })
	if n > 0 {
		r.log.Info("deleted files that have no owner", zap.Int("files", n))
	}
	if err != nil && ctx.Err() == nil {
		r.log.Warn("could not look for files that have no owner", zap.Error(err))
	}
}

// clean deletes files that have no owner and were last written before the given time: unfinished uploads, and blobs whose ids the function
// unknown returns. It returns the number of deleted files.
func (b *blobs) clean(before time.Time, unknown func(ids []string) ([]string, error)) (deleted int, err error) {
	d, err := os.Open(b.dir)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	for {
		list, err := d.ReadDir(cleanStep)
		var ids, left []string
		for _, e := range list {
			info, err := e.Info()
			switch {
			case err != nil || !info.Mode().IsRegular() || !info.ModTime().Before(before):
			case id.MatchString(e.Name()):
				ids = append(ids, e.Name())
			case strings.HasPrefix(e.Name(), incoming):
				left = append(left, e.Name())
			}
		}
		if len(ids) > 0 {
			ids, err := unknown(ids)
			if err != nil {
				return deleted, err
			}
			left = append(left, ids...)
		}
		for _, name := range left {
			if os.Remove(filepath.Join(b.dir, name)) == nil {
				deleted++
			}
		}
		if errors.Is(err, io.EOF) {
			return deleted, nil
		}
		if err != nil {
			return deleted, err
		}
	}
}
