package pgtest

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// initdb creates the files of a cluster with its default settings. It costs half a second of CPU, so the files are kept as an archive in
// the cache directory of the user, and later clusters are copies of them, in this process and in others.
func (c *Cluster) initdb(ctx context.Context) error {
	args := []string{"-U", superuser, "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"}
	archive, err := c.archive(args)
	if err != nil {
		return err
	}
	if archive != "" {
		if err := c.unpack(archive); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := c.program(ctx, "initdb", slices.Concat([]string{"-D", c.data()}, args)...); err != nil || archive == "" {
		return err
	}
	return c.pack(archive)
}

// archive returns the path of the archive for these programs and arguments, or "" if the user has no cache directory.
func (c *Cluster) archive(args []string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", nil //nolint:nilerr // without a cache, each cluster is created anew
	}
	key := sha256.New()
	fmt.Fprintf(key, "%s %q", c.bin, args)
	for _, program := range []string{"initdb", "postgres"} {
		info, err := os.Stat(filepath.Join(c.bin, program))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(key, " %d %d", info.Size(), info.ModTime().UnixNano())
	}
	return filepath.Join(cache, "uimgate-test", fmt.Sprintf("postgres-%x.tar", key.Sum(nil)[:8])), nil
}

// pack writes the files of a new cluster to an archive. The archive appears under its name when it is complete.
func (c *Cluster) pack(archive string) (err error) {
	if err := os.MkdirAll(filepath.Dir(archive), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(archive), "new")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(f.Name())) }() // after the renaming, there is no such file
	w := tar.NewWriter(f)
	if err := errors.Join(w.AddFS(os.DirFS(c.data())), w.Close(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), archive)
}

// unpack creates the files of a cluster from an archive.
func (c *Cluster) unpack(archive string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := c.own(os.Mkdir(c.data(), 0o700), c.data()); err != nil {
		return err
	}
	for r := tar.NewReader(f); ; {
		h, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%s: %w", archive, err)
		case !filepath.IsLocal(h.Name):
			return fmt.Errorf("%s: the path %q", archive, h.Name)
		}
		path := filepath.Join(c.data(), h.Name)
		if h.FileInfo().IsDir() {
			err = os.Mkdir(path, 0o700)
		} else {
			err = write(path, r)
		}
		if err := c.own(err, path); err != nil {
			return err
		}
	}
}

func write(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// own gives a file to the user that runs the server, unless err is set, which it returns.
func (c *Cluster) own(err error, path string) error {
	if err != nil || c.owner == nil {
		return err
	}
	return os.Chown(path, int(c.owner.Uid), int(c.owner.Gid))
}
