package client

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/uimgate/uimgate/internal/fetch"
	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/internal/wire/mrp/e2e"
)

// Upload stores a blob at the relay. It reads content twice from the start: once for the digest, which the signature covers, and
// once to send it. If the content changes in between, the relay rejects it. A blob has at most wire.MaxBlob bytes. contentType may
// be empty.
func (c *Client) Upload(ctx context.Context, content io.ReadSeeker, contentType string) (b wire.Blob, err error) {
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return wire.Blob{}, err
	}
	hash := sha256.New()
	size, err := io.Copy(hash, io.LimitReader(content, wire.MaxBlob+1))
	switch {
	case err != nil:
		return wire.Blob{}, err
	case size > wire.MaxBlob:
		return wire.Blob{}, fmt.Errorf("%w: a blob must not exceed %d bytes", ErrOptions, int64(wire.MaxBlob))
	}
	header := http.Header{"Content-Type": {wire.TypeBlob}}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	r := request{
		method: http.MethodPost, target: "/v1/blobs", header: header, content: content, size: size, digest: wire.Digest(hash.Sum(nil)),
		most: maxAnswer, once: true,
	}
	a, err := c.exchange(ctx, r)
	if err != nil {
		return wire.Blob{}, err
	}
	if err := decode(a.body, &b); err != nil {
		return wire.Blob{}, err
	}
	if !isID(b.ID) || b.Size != size || b.Hash != hex.EncodeToString(r.digest[:]) {
		return wire.Blob{}, fmt.Errorf("%w: the relay stored different bytes than were sent", ErrAnswer)
	}
	return b, nil
}

// Download writes a blob to w. want is the SHA-256 of the blob in lowercase hex, from an attachment; if want is empty, Download
// uses the digest that the relay states. After an error, the bytes written to w are not the blob.
func (c *Client) Download(ctx context.Context, id, want string, w io.Writer) (b wire.Blob, err error) {
	ctx, cancel := context.WithTimeout(ctx, blobTime)
	defer cancel()
	target, err := blobPath(id)
	if err != nil {
		return wire.Blob{}, err
	}
	a, err := c.exchange(ctx, request{method: http.MethodGet, target: target, streamed: true})
	if err != nil {
		return wire.Blob{}, err
	}
	defer a.stream.Close()
	if b, err = readBlob(id, a.header); err != nil {
		return wire.Blob{}, err
	}
	if want != "" && b.Hash != want {
		return wire.Blob{}, fmt.Errorf("%w: the blob is not the one that the attachment names", ErrAnswer)
	}
	hash := sha256.New()
	b.Size, err = io.Copy(io.MultiWriter(hash, w), io.LimitReader(a.stream, wire.MaxBlob+1))
	switch {
	case err != nil:
		return wire.Blob{}, &fetch.Error{Origin: fetch.Origin(c.base), Sent: true, Err: err}
	case b.Size > wire.MaxBlob:
		return wire.Blob{}, fmt.Errorf("%w: the blob has more than %d bytes", ErrAnswer, int64(wire.MaxBlob))
	case hex.EncodeToString(hash.Sum(nil)) != b.Hash:
		return wire.Blob{}, fmt.Errorf("%w: the bytes of the blob do not match its hash", ErrAnswer)
	}
	return b, nil
}

// readBlob reads the headers that describe a blob, except for the size.
func readBlob(id string, h http.Header) (wire.Blob, error) {
	b := wire.Blob{ID: id, Hash: h.Get(wire.HeaderHash), ContentType: shown(h.Get("Content-Type"), wire.MaxContentType)}
	if raw, err := hex.DecodeString(b.Hash); err != nil || len(raw) != sha256.Size || hex.EncodeToString(raw) != b.Hash {
		return wire.Blob{}, fmt.Errorf("%w: %s is not a SHA-256 in lowercase hex", ErrAnswer, wire.HeaderHash)
	}
	return b, nil
}

// BlobInfo returns the relay's description of a blob, without its bytes.
func (c *Client) BlobInfo(ctx context.Context, id string) (wire.Blob, error) {
	target, err := blobPath(id)
	if err != nil {
		return wire.Blob{}, err
	}
	a, err := c.exchange(ctx, request{method: http.MethodHead, target: target, streamed: true})
	if err != nil {
		return wire.Blob{}, err
	}
	defer a.stream.Close()
	b, err := readBlob(id, a.header)
	if err != nil {
		return wire.Blob{}, err
	}
	if _, err := fmt.Sscanf(a.header.Get("Content-Length"), "%d", &b.Size); err != nil || b.Size < 0 {
		return wire.Blob{}, fmt.Errorf("%w: the response lacks the size of the blob", ErrAnswer)
	}
	return b, nil
}

// DeleteBlob removes a blob of this agent.
func (c *Client) DeleteBlob(ctx context.Context, id string) error {
	target, err := blobPath(id)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodDelete, target, maxAnswer, nil)
}

func blobPath(id string) (string, error) {
	if !isID(id) {
		return "", fmt.Errorf("%w: this is not a valid blob id", ErrOptions)
	}
	return "/v1/blobs/" + url.PathEscape(id), nil
}

// Attach encrypts bytes for one recipient, stores them at the relay, and returns the attachment for a message to that recipient.
func (c *Client) Attach(ctx context.Context, to wire.Key, plaintext []byte, filename string) (wire.Attachment, error) {
	stored, key, err := e2e.SealBlob(plaintext)
	if err != nil {
		return wire.Attachment{}, err
	}
	a, err := key.Attach(c.o.Key, to, wire.Attachment{Filename: filename})
	if err != nil {
		return wire.Attachment{}, err
	}
	b, err := c.Upload(ctx, bytes.NewReader(stored), "")
	if err != nil {
		return wire.Attachment{}, err
	}
	a.BlobID, a.Size, a.Hash, a.ContentType = b.ID, b.Size, b.Hash, b.ContentType
	return a, nil
}

// Attached downloads an attachment of a message into memory and returns its bytes, decrypted if the attachment is encrypted.
func (c *Client) Attached(ctx context.Context, m wire.Message, a wire.Attachment) ([]byte, error) {
	var stored bytes.Buffer
	if _, err := c.Download(ctx, a.BlobID, a.Hash, &stored); err != nil {
		return nil, err
	}
	if !a.Encrypted {
		return stored.Bytes(), nil
	}
	return e2e.OpenBlob(c.o.Key, m.Sender, a, stored.Bytes())
}
