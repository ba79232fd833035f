package mrpcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/uimgate/uimgate/agent/mrp"
	"github.com/uimgate/uimgate/cmd/uimgate/internal/cli"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
)

func (s *settings) blob() *cobra.Command {
	c := &cobra.Command{
		Use: "blob", Short: "Store files at the relay, and fetch them", Args: cli.Args(cobra.NoArgs),
		Example: "  uimgate mrp blob put report.pdf\n  uimgate mrp blob get blob_0123456789ab --file report.pdf",
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.blobPut(), s.blobGet(), s.blobInfo(), s.blobDelete())
	return c
}

// put stores the file at path at the relay, unencrypted.
func put(c *cobra.Command, client *mrp.Client, path, contentType string) (wire.Blob, error) {
	file, err := os.Open(path)
	if err != nil {
		return wire.Blob{}, err
	}
	defer file.Close() //nolint:errcheck // only read
	return client.Upload(c.Context(), file, contentType)
}

// attachEncrypted encrypts a file so that only the recipient can read it, and stores it at the relay.
func attachEncrypted(c *cobra.Command, client *mrp.Client, to wire.Key, path string) (wire.Attachment, error) {
	text, err := cli.ReadNamed(path, wire.MaxBlob)
	if err != nil {
		return wire.Attachment{}, err
	}
	return client.Attach(c.Context(), to, text, filepath.Base(path))
}

func printBlob(w io.Writer, b wire.Blob) {
	fmt.Fprintf(w, "%s  %d bytes  %s  %s\n", cli.Sanitize(b.ID), b.Size, cli.Sanitize(b.ContentType), b.Hash)
}

func (s *settings) blobPut() *cobra.Command {
	var contentType string
	c := &cobra.Command{
		Use: "put FILE", Short: "Store a file of at most 100 MiB at the relay", Args: cli.Args(cobra.ExactArgs(1)),
		Example: "  uimgate mrp blob put report.pdf --type application/pdf",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			b, err := put(c, client, args[0], contentType)
			if err != nil {
				return err
			}
			return s.print(c, b, func(w io.Writer) { printBlob(w, b) })
		},
	}
	c.Flags().StringVar(&contentType, "type", "", "content type (default application/octet-stream)")
	return c
}

func (s *settings) blobGet() *cobra.Command {
	var path, messageID string
	c := &cobra.Command{
		Use: "get ID", Short: "Fetch a file and verify its hash", Args: cli.Args(cobra.ExactArgs(1)),
		Long: `Get fetches a file. It writes the file only if it is complete and has the hash that the relay names, and never
overwrites an existing file. To decrypt an encrypted file, pass the id of the message that attaches it as --message.`,
		Example: "  uimgate mrp blob get blob_0123456789ab --file report.pdf --message msg_1767225600_0123456789ab",
		RunE: func(c *cobra.Command, args []string) error {
			if path == "" {
				return cli.Usage(errors.New("name the file to write with --file"))
			}
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			b, err := fetchBlob(c, client, args[0], messageID, path)
			if err != nil {
				return err
			}
			return s.print(c, b, func(w io.Writer) { printBlob(w, b) })
		},
	}
	c.Flags().StringVar(&path, "file", "", "file to write")
	c.Flags().StringVar(&messageID, "message", "", "id of the message that attaches the file")
	return c
}

// fetchBlob writes a blob to a temporary file, and links that file to path when it is complete. If messageID is not empty, fetchBlob
// decrypts the blob as an attachment of that message. It returns an error if there is already a file at path.
func fetchBlob(c *cobra.Command, client *mrp.Client, id, messageID, path string) (b wire.Blob, err error) {
	part, err := os.CreateTemp(filepath.Dir(path), ".mrp-*")
	if err != nil {
		return wire.Blob{}, err
	}
	defer os.Remove(part.Name()) //nolint:errcheck // after success, the file remains under path
	if messageID == "" {
		b, err = client.Download(c.Context(), id, "", part)
	} else {
		b, err = fetchAttached(c, client, id, messageID, part)
	}
	if err = errors.Join(err, part.Sync(), part.Close()); err != nil {
		return wire.Blob{}, err
	}
	if err := os.Link(part.Name(), path); err != nil { // unlike Rename, Link never overwrites a file
		return wire.Blob{}, err
	}
	return b, nil
}

func fetchAttached(c *cobra.Command, client *mrp.Client, id, messageID string, to io.Writer) (wire.Blob, error) {
	m, err := client.Message(c.Context(), messageID)
	if err != nil {
		return wire.Blob{}, err
	}
	for _, a := range m.Attachments {
		if a.BlobID != id {
			continue
		}
		text, err := client.Attached(c.Context(), m, a)
		if err != nil {
			return wire.Blob{}, err
		}
		_, err = to.Write(text)
		return wire.Blob{ID: id, Size: int64(len(text)), Hash: a.Hash, ContentType: a.ContentType}, err
	}
	return wire.Blob{}, errors.New("the message does not attach this file")
}

func (s *settings) blobInfo() *cobra.Command {
	return &cobra.Command{
		Use: "info ID", Short: "Show the size, type and hash of a file", Args: cli.Args(cobra.ExactArgs(1)),
		Example: "  uimgate mrp blob info blob_0123456789ab",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			b, err := client.BlobInfo(c.Context(), args[0])
			if err != nil {
				return err
			}
			return s.print(c, b, func(w io.Writer) { printBlob(w, b) })
		},
	}
}

func (s *settings) blobDelete() *cobra.Command {
	return &cobra.Command{
		Use: "delete ID", Short: "Delete a file of this agent", Args: cli.Args(cobra.ExactArgs(1)),
		Example: "  uimgate mrp blob delete blob_0123456789ab",
		RunE: func(c *cobra.Command, args []string) error {
			client, err := s.client()
			if err != nil {
				return err
			}
			defer client.Close()
			return client.DeleteBlob(c.Context(), args[0])
		},
	}
}
