package relay

import (
	"cmp"
	"encoding/hex"
	"mime"
	"net/http"
	"strconv"

	wire "github.com/uimgate/uimgate/internal/wire/mrp"
	"github.com/uimgate/uimgate/store/mail"
)

func blobOf(b mail.Blob) wire.Blob {
	return wire.Blob{
		ID: b.ID, Hash: hex.EncodeToString(b.Hash[:]), Size: b.Size, ContentType: b.ContentType, CreatedAt: b.CreatedAt.UTC(),
		ExpiresAt: b.ExpiresAt.UTC(),
	}
}

// upload stores a blob. The content is already in a file, and the signature of the request covers its digest.
func (r *Relay) upload(w http.ResponseWriter, c *call) *wire.Error {
	kind := cmp.Or(c.Header.Get("Content-Type"), wire.TypeBlob)
	if _, _, err := mime.ParseMediaType(kind); err != nil || len(kind) > wire.MaxContentType {
		return wire.Refuse(wire.BadRequest, "Content-Type must be a media type of at most 256 characters")
	}
	b := mail.Blob{
		ID: wire.NewBlobID(), Owner: c.key(), Hash: c.file.sum, Size: c.file.size, ContentType: kind,
		CreatedAt: r.now(), ExpiresAt: r.now().Add(wire.BlobLifetime),
	}
	if err := c.file.keep(b.ID); err != nil {
		return r.refusal(err, wire.NotFound)
	}
	most := mail.BlobBounds{Count: r.limits.Blobs, Bytes: r.limits.BlobBytes, All: r.limits.AllBlobs}
	used, err := r.store.AddBlob(c.Context(), b, most)
	if err != nil {
		r.blobs.remove([]string{b.ID})
		refused := r.refusal(err, wire.NotFound)
		if refused.Code == wire.NoRoom {
			if _, used, err := r.store.BlobUse(c.Context(), c.key()); err == nil {
				r.showUse(w, used)
			}
		}
		return refused
	}
	r.showUse(w, used)
	r.json(w, http.StatusCreated, blobOf(b))
	return nil
}

func (r *Relay) showUse(w http.ResponseWriter, used int64) {
	w.Header().Set(wire.HeaderUsed, strconv.FormatInt(used, 10))
	w.Header().Set(wire.HeaderLimit, strconv.FormatInt(r.limits.BlobBytes, 10))
}

// download responds with a blob, or a part of the blob, to its owner and to recipients of messages to which the blob is attached. See RFC
// 9110, section 14.
func (r *Relay) download(w http.ResponseWriter, c *call) *wire.Error {
	b, err := r.store.ReadableBlob(c.Context(), c.PathValue("id"), c.key())
	if err != nil {
		return r.refusal(err, wire.BlobNotFound)
	}
	f, err := r.blobs.open(b.ID)
	if err != nil {
		return r.refusal(err, wire.BlobNotFound)
	}
	defer func() { _ = f.Close() }()
	hurry(w, r.times.with(r.times.blob, b.Size))
	h := w.Header()
	h.Set("Content-Type", b.ContentType)
	h.Set(wire.HeaderHash, hex.EncodeToString(b.Hash[:]))
	h.Set("ETag", `"`+hex.EncodeToString(b.Hash[:])+`"`)
	h.Set("Content-Disposition", "attachment")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Cache-Control", "private, no-store")
	http.ServeContent(w, c.Request, "", b.CreatedAt, f)
	return nil
}

func (r *Relay) deleteBlob(w http.ResponseWriter, c *call) *wire.Error {
	id := c.PathValue("id")
	if err := r.store.DeleteBlob(c.Context(), id, c.key()); err != nil {
		return r.refusal(err, wire.BlobNotFound)
	}
	r.blobs.remove([]string{id})
	r.nothing(w)
	return nil
}
