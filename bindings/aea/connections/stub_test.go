//go:build unix

package connections_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uimgate/uimgate/bindings/aea/connections/stub"
	"github.com/uimgate/uimgate/bindings/aea/runtime"
	aeatest "github.com/uimgate/uimgate/internal/test/aea"
	aeavectors "github.com/uimgate/uimgate/internal/test/aea/vectors"
	wire "github.com/uimgate/uimgate/internal/wire/aea"
	"github.com/uimgate/uimgate/internal/wire/aea/protocol"
)

// files has the files of an agent.
type files struct {
	t      *testing.T
	dir    string
	output *os.File // stays open, so that writes continue at the last offset
}

// make creates the files, as an agent does when it starts.
func (f *files) make() *files {
	f.t.Helper()
	if f.output != nil {
		_ = f.output.Close()
	}
	err := os.WriteFile(filepath.Join(f.dir, "input_file"), nil, 0o600)
	if err == nil {
		f.output, err = os.OpenFile(filepath.Join(f.dir, "output_file"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
	return f
}

// write writes to the agent's output, under the lock.
func (f *files) write(data []byte) {
	f.t.Helper()
	if err := unix.Flock(int(f.output.Fd()), unix.LOCK_EX); err != nil {
		f.t.Fatal(err)
	}
	_, err := f.output.Write(data)
	if err = errors.Join(err, unix.Flock(int(f.output.Fd()), unix.LOCK_UN)); err != nil {
		f.t.Fatal(err)
	}
}

// read waits for the agent's input and empties it, as the agent does.
func (f *files) read() (data []byte) {
	f.t.Helper()
	settle()
	f.locked("input_file", func(file *os.File) {
		var err error
		if data, err = os.ReadFile(file.Name()); err != nil || file.Truncate(0) != nil {
			f.t.Fatal(err)
		}
	})
	if len(data) == 0 {
		f.t.Fatal("the input file is empty")
	}
	return data
}

// settle lets the connection poll its files several times, on the fake clock of the test.
func settle() {
	time.Sleep(200 * time.Millisecond)
	synctest.Wait()
}

func (f *files) locked(name string, do func(*os.File)) {
	f.t.Helper()
	file, err := os.OpenFile(filepath.Join(f.dir, name), os.O_RDWR|os.O_APPEND, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // releases the lock too
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
		f.t.Fatal(err)
	}
	do(file)
}

func (f *files) serve() *runtime.Runtime {
	return aeatest.Serve(f.t, runtime.Limits{}, stub.New(f.dir))
}

// expect checks the status of the connection after it has settled.
func expect(t *testing.T, r *runtime.Runtime, is func(runtime.ConnectionStatus) bool) {
	t.Helper()
	settle()
	if s := r.Status().Connections[0]; !is(s) {
		t.Fatalf("got %+v", s)
	}
}

func record(t *testing.T, ref, text string) []byte {
	t.Helper()
	m, err := wire.Message{ID: 1, StarterRef: ref, Content: aeatest.Text(text).Encode()}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	data, err := wire.AppendRecord(nil, wire.Envelope{To: "gw", Sender: "me", Protocol: protocol.Default.Specs[0], Message: m})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func textOf(t *testing.T, data []byte) string {
	t.Helper()
	e, rest, err := wire.ReadRecord(data)
	if err != nil || len(rest) > 0 || e.To != "me" || e.Sender != "gw" {
		t.Fatalf("%q: %v", data, err)
	}
	m, err := wire.DecodeMessage(e.Message)
	if err != nil {
		t.Fatal(err)
	}
	c, err := protocol.Default.Decode(m.Content)
	if err != nil {
		t.Fatal(err)
	}
	d, _ := c.(protocol.DefaultMessage)
	return string(d.Bytes)
}

// TestStubTranscript replays the framework's own records.
func TestStubTranscript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := (&files{t: t, dir: t.TempDir()}).make()
		f.serve()
		f.write(aeavectors.Vector(t, vectors, "stub/default-bytes"))
		if text := textOf(t, f.read()); text != "hello" {
			t.Errorf("got %q, want %q", text, "hello")
		}
	})
}

// TestOneRecordAtATime checks that the connection writes one record at a time, because an agent would lose a second one.
func TestOneRecordAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := (&files{t: t, dir: t.TempDir()}).make()
		r := f.serve()
		var all []byte
		for _, ref := range []string{"a", "b", "c,d\n"} {
			all = append(all, record(t, ref, ref)...)
		}
		f.write(all[:len(all)-5])
		expect(t, r, func(s runtime.ConnectionStatus) bool { return s.Received == 2 })
		f.write(all[len(all)-5:])
		got := map[string]bool{}
		for range 3 {
			got[textOf(t, f.read())] = true
		}
		if len(got) != 3 || !got["c,d\n"] {
			t.Errorf("got %v", got)
		}
		expect(t, r, func(s runtime.ConnectionStatus) bool { return s.Sent == 3 && s.Refused == 0 && s.Queued == 0 })
	})
}

// TestInvalidFiles checks that the connection waits for valid files, and reports the error to the operator.
func TestInvalidFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &files{t: t, dir: t.TempDir()}
		r := f.serve()
		works := func(ref string) {
			t.Helper()
			f.write(record(t, ref, ref))
			if text := textOf(t, f.read()); text != ref {
				t.Errorf("got %v, want %v", text, ref)
			}
		}
		expect(t, r, func(s runtime.ConnectionStatus) bool { return strings.Contains(s.LastError, "no such file") })
		f.make()
		works("created")
		for _, name := range []string{"output_file", "input_file"} {
			if err := os.Remove(filepath.Join(f.dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		if err := unix.Mkfifo(filepath.Join(f.dir, "output_file"), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, r, func(s runtime.ConnectionStatus) bool { return strings.Contains(s.LastError, "is not a regular file") })
		if err := os.Remove(filepath.Join(f.dir, "output_file")); err != nil {
			t.Fatal(err)
		}
		f.make()
		works("back")
		output, elsewhere := filepath.Join(f.dir, "output_file"), filepath.Join(f.dir, "elsewhere")
		if err := errors.Join(os.WriteFile(elsewhere, record(t, "x", "x"), 0o600), os.Remove(output), os.Symlink(elsewhere, output)); err != nil {
			t.Fatal(err)
		}
		expect(t, r, func(s runtime.ConnectionStatus) bool {
			return strings.Contains(s.LastError, "too many levels of symbolic links")
		})
		if data, err := os.ReadFile(elsewhere); err != nil || !bytes.Equal(data, record(t, "x", "x")) {
			t.Errorf("a link was followed: %q, %v", data, err)
		}
		if err := os.Remove(output); err != nil {
			t.Fatal(err)
		}
		f.make()
		works("after a link")
		f.write([]byte("gw,me,no protocol,\n"))
		expect(t, r, func(s runtime.ConnectionStatus) bool { return s.Refused == 1 })
		works("after rubbish")
		f.write(bytes.Repeat([]byte("x"), 16<<20+1))
		expect(t, r, func(s runtime.ConnectionStatus) bool { return s.Refused == 2 })
		works("after too much")
	})
}

// TestWriters checks that a writer may continue at its old offset, start over, or append.
func TestWriters(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := (&files{t: t, dir: t.TempDir()}).make()
		f.serve()
		requests := 0
		works := func(write func([]byte)) {
			t.Helper()
			requests++
			text := strings.Repeat("x", 100*requests)
			write(record(t, text[:requests], text))
			if textOf(t, f.read()) != text {
				t.Errorf("record %d", requests)
			}
		}
		appending := func(data []byte) {
			f.locked("output_file", func(file *os.File) {
				if _, err := file.Write(data); err != nil {
					t.Fatal(err)
				}
			})
		}
		goOn := func(data []byte) { f.write(data) }
		again := func(data []byte) { f.make().write(data) }
		for _, write := range []func([]byte){goOn, goOn, again, goOn, appending, appending, goOn, again, appending, goOn, goOn} {
			works(write)
		}
		_ = f.output.Close()
		if err := os.WriteFile(filepath.Join(f.dir, "output_file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		works(func(data []byte) { // very far behind, in a sparse file
			f.locked("output_file", func(file *os.File) {
				if err := file.Truncate(64 << 20); err != nil {
					t.Fatal(err)
				}
				if _, err := file.Write(data); err != nil {
					t.Fatal(err)
				}
			})
		})
	})
}

// TestUnsendableEnvelope checks that Send returns an error for an envelope that does not fit into a record.
func TestUnsendableEnvelope(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := (&files{t: t, dir: t.TempDir()}).make()
		r := f.serve()
		expect(t, r, func(s runtime.ConnectionStatus) bool { return s.Peers == 1 })
		for _, to := range []string{"a,b", "me"} {
			_, err := r.Start(wire.PublicID{}, protocol.Default.Specs[0], to, aeatest.Text(`a\xb`))
			if !errors.Is(err, wire.ErrUnsendable) {
				t.Errorf("%s: %v, want %v", to, err, wire.ErrUnsendable)
			}
		}
	})
}
