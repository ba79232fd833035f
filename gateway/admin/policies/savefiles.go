package policies

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/uimgate/uimgate/gateway/admin/reloads"
	"github.com/uimgate/uimgate/internal/reason"
)

// A fileEdit replaces one file of the configuration.
type fileEdit struct {
	path, what string // what is the name of the file in refusals, such as policy
	most       int64  // bytes
	sha256     string // of the text that was edited
	text       []byte // the new text
	old        []byte // the text that was replaced
}

// saveFiles replaces files of the configuration, reloads, and keeps the previous texts. If it cannot replace a file, or the reload is
// refused, it restores all of them. force is ReloadRequest.Force. The caller must hold o.saving.
func (o *Operations) saveFiles(ctx context.Context, edits []*fileEdit, force bool) (reloads.Reload, error) {
	if err := replaceFiles(edits); err != nil {
		return reloads.Reload{}, err
	}
	reloaded, err := o.c.Reloads.Reload(ctx, reloads.ReloadRequest{Force: force})
	if err != nil {
		return reloads.Reload{}, restoreFiles(edits, err)
	}
	return reloaded, keepFiles(edits)
}

// replaceFiles writes the new texts, and keeps each previous text in a file at savingPath. If it cannot replace all
// files, it replaces none.
func replaceFiles(edits []*fileEdit) error {
	for _, e := range edits {
		var err error
		if e.old, err = readFile(e.path, e.what, e.most); err != nil {
			return err
		}
		if sha256Text(e.old) != e.sha256 {
			return reason.PolicyNotSaved.Refusal("The file of the "+e.what+" has been changed since it was read.").
				With("sha256", sha256Text(e.old)).With("path", e.path)
		}
	}
	for n, e := range edits {
		err := writeFile(savingPath(e.path), e.old, e.path) // the previous text survives a crash during the reload
		if err == nil {
			err = writeFile(e.path, e.text, e.path)
		}
		if err != nil {
			_ = os.Remove(savingPath(e.path)) // the file at e.path still has this text
			refused := reason.PolicyNotSaved.Refusal("This process cannot replace the file of the "+e.what+".").With("path", e.path).Because(err)
			return restoreFiles(edits[:n], refused)
		}
	}
	return nil
}

// restoreFiles writes the previous texts back, and returns the refusal. If a file no longer has the text that was saved, another person or
// process has edited it: restoreFiles then leaves it unchanged, and returns another refusal.
func restoreFiles(edits []*fileEdit, refused error) error {
	for _, e := range edits {
		present, err := readFile(e.path, e.what, e.most)
		if err == nil && string(present) != string(e.text) {
			refused = reason.PolicyNotSaved.
				Refusal("The reload was refused, and the file of the "+e.what+" was changed during the reload: look at it.").
				With("sha256", sha256Text(present)).With("path", e.path).With("previous", savingPath(e.path)).Because(refused)
			continue
		}
		if err == nil {
			err = writeFile(e.path, e.old, e.path)
		}
		if err == nil {
			err = os.Remove(savingPath(e.path))
		}
		if err != nil {
			return reason.Internal.Refusal("The reload was refused, and the previous " + e.what + " could not be restored.").
				Because(errors.Join(refused, err))
		}
	}
	return refused
}

// keepFiles keeps the previous texts as files whose names end with .1.
func keepFiles(edits []*fileEdit) error {
	for _, e := range edits {
		if err := os.Rename(savingPath(e.path), keptPath(e.path)); err != nil {
			return reason.Internal.Refusal("The "+e.what+" is in force, but this process could not keep the previous text.").
				With("path", keptPath(e.path)).Because(err)
		}
	}
	return nil
}

// readFile reads a file. most is the maximum size in bytes.
func readFile(path, what string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, reason.Internal.Refusal("The file of the " + what + " cannot be read.").Because(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	if err != nil {
		return nil, reason.Internal.Refusal("The file of the " + what + " cannot be read.").Because(err)
	}
	return text, nil
}
