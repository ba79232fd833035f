package relay

import (
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

// blobs stores the content of each blob in a file that is named by the id of the blob. While the content is being received, the file has a
// temporary name.
type blobs struct {
	dir    string
	intake intake
}

// incoming is the prefix of files that are being received.
const incoming = "incoming-"

// An upload is a blob that was received but not yet stored.
type upload struct {
	sum  wire.Digest
	size int64
	path string
	dir  string
	free func() // releases the bytes counted by the intake; nil once released
}

// receive writes a body to a file while the body arrives. The file is durable when receive returns. If receive returns an error, it has
// deleted the file. The owner is not known until the whole body has arrived, so until then the bytes count against the limit of the client.
func (b *blobs) receive(body io.Reader, client string, tooLarge *wire.Error) (_ *upload, refused *wire.Error) {
	f, err := os.CreateTemp(b.dir, incoming)
	if err != nil {
		return nil, unavailable("the relay cannot store blobs at the moment: try again in a few seconds")
	}
	counted := &countedReader{Reader: body, to: &b.intake, client: client}
	u := &upload{path: f.Name(), dir: b.dir, free: counted.free}
	defer func() {
		if refused != nil {
			u.drop()
		}
	}()
	h := sha256.New()
	u.size, err = io.Copy(io.MultiWriter(f, h), counted)
	u.sum = wire.Digest(h.Sum(nil))
	kept := errors.Join(f.Sync(), f.Close())
	_, onDisk := errors.AsType[*os.PathError](err)
	switch {
	case isTooLarge(err):
		return u, tooLarge
	case errors.Is(err, errIntake):
		return u, unavailable("too many uploads are in progress: try again in a few seconds")
	case onDisk || kept != nil:
		return u, unavailable("the relay cannot store blobs at the moment: try again in a few seconds")
	case err != nil:
		return u, wire.Refuse(wire.BadRequest, "the body is incomplete")
	}
	return u, nil
}

// keep durably renames the file to its final name, and stops counting its bytes against the intake.
func (u *upload) keep(id string) error {
	if err := os.Rename(u.path, filepath.Join(u.dir, id)); err != nil {
		return err
	}
	u.path = ""
	u.release()
	d, err := os.Open(u.dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// drop deletes the file of an upload unless keep has renamed it, and stops counting its bytes against the intake. u may be nil.
func (u *upload) drop() {
	if u != nil && u.path != "" {
		_ = os.Remove(u.path)
	}
	u.release()
}

func (u *upload) release() {
	if u != nil && u.free != nil {
		u.free()
		u.free = nil
	}
}

// id matches the only permitted file names.
var id = regexp.MustCompile(`^blob_[0-9a-f]{24}$`)

var errNoID = errors.New("not a valid blob id")

func (b *blobs) open(name string) (*os.File, error) {
	if !id.MatchString(name) {
		return nil, errNoID
	}
	return os.Open(filepath.Join(b.dir, name))
}

// remove deletes the files of blobs whose records have been deleted. If a file cannot be deleted, clean deletes it later.
func (b *blobs) remove(ids []string) {
	for _, name := range ids {
		if id.MatchString(name) {
			_ = os.Remove(filepath.Join(b.dir, name))
		}
	}
}
