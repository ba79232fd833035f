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

// blobs stores the bytes of blobs, one file for each, by id. A file that is being received has another name until it is complete.
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

// receive writes a body to a file while it arrives. It is durable when receive returns. The owner is known only when all of it has
// arrived: until then each client may use a bounded part of the disk.
func (b *blobs) receive(body io.Reader, client string, tooLarge *wire.Error) (_ *upload, refused *wire.Error) {
	f, err := os.CreateTemp(b.dir, incoming)
	if err != nil {
		return nil, unavailable("the relay cannot keep blobs at present: try again in some seconds")
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
		return u, unavailable("too much is being uploaded at once: try again when some of it has come")
	case onDisk || kept != nil:
		return u, unavailable("the relay cannot keep blobs at present: try again in some seconds")
	case err != nil:
		return u, wire.Refuse(wire.BadRequest, "the body did not come whole")
	}
	return u, nil
}

// keep renames the file to its final name.
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

// drop deletes an upload that was not stored. A nil upload has nothing to delete.
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

// id is the only permitted form of a file name.
var id = regexp.MustCompile(`^blob_[0-9a-f]{24}$`)

var errNoID = errors.New("this is not an id of a blob")

func (b *blobs) open(name string) (*os.File, error) {
	if !id.MatchString(name) {
		return nil, errNoID
	}
	return os.Open(filepath.Join(b.dir, name))
}

// remove deletes files without records. A file that cannot be deleted stays, without an owner.
func (b *blobs) remove(ids []string) {
	for _, name := range ids {
		if id.MatchString(name) {
			_ = os.Remove(filepath.Join(b.dir, name))
		}
	}
}
