package sqlmail_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uimgate/uimgate/store/mail"
)

// blob records a blob of an agent with a lifetime of ten minutes.
func (r *relay) blob(owner mail.Key, size int64) string {
	r.Helper()
	id := r.id("blob")
	_, err := r.AddBlob(r.Context(), r.blobOf(id, owner, size), mail.BlobBounds{Count: 100, Bytes: 1000, All: 10_000})
	r.must(err)
	return id
}

func (r *relay) blobOf(id string, owner mail.Key, size int64) mail.Blob {
	return mail.Blob{
		ID: id, Owner: owner, Hash: key(7), Size: size, ContentType: "text/plain\x00",
		CreatedAt: r.Now(), ExpiresAt: r.Now().Add(10 * time.Minute),
	}
}

func TestBlobs(t *testing.T) {
	t.Parallel()
	each(t, map[string]func(*relay){
		"a blob outlives a restart":        blobRoundTrip,
		"quota":                            blobsBounded,
		"readers":                          readers,
		"attachments are described":        attachments,
		"expiry of attached blobs":         attachedLives,
		"deletion":                         blobsDeleted,
		"attached blobs cannot be deleted": attachedStays,
	})
}

func blobRoundTrip(r *relay) {
	r.agent(alice)
	want := r.blobOf("blob_1", alice, 0)
	_, err := r.AddBlob(r.Context(), want, mail.BlobBounds{Count: 1})
	r.must(err)
	r.reopen()
	got, err := r.Blob(r.Context(), "blob_1")
	r.must(err)
	want.CreatedAt, want.ExpiresAt = time.Unix(0, want.CreatedAt.UnixNano()).UTC(), time.Unix(0, want.ExpiresAt.UnixNano()).UTC()
	if d := cmp.Diff(want, got); d != "" {
		r.Fatalf("differs (-want +got):\n%s", d)
	}
	r.age(11 * time.Minute)
	_, err = r.Blob(r.Context(), "blob_1")
	r.want(err, mail.ErrNotFound)
	_, err = r.AddBlob(r.Context(), r.blobOf("blob_2", bob, 1), mail.BlobBounds{Count: 1, Bytes: 1, All: 1})
	r.want(err, mail.ErrNotFound)
	r.counted()
}

func blobsBounded(r *relay) {
	r.agent(alice, bob)
	most := mail.BlobBounds{Count: 3, Bytes: 100, All: 150}
	for _, c := range []struct {
		owner mail.Key
		size  int64
		used  int64
		want  error
	}{
		{alice, 101, 0, mail.ErrOverQuota},
		{alice, 60, 60, nil},
		{alice, 41, 60, mail.ErrOverQuota},
		{alice, 40, 100, nil},
		{alice, 0, 100, nil},
		{alice, 0, 100, mail.ErrOverQuota},
		{bob, 51, 0, mail.ErrFull},
		{bob, 50, 50, nil},
	} {
		used, err := r.AddBlob(r.Context(), r.blobOf(r.id("blob"), c.owner, c.size), most)
		r.want(err, c.want)
		if used != c.used {
			r.Errorf("%d bytes: %d are used, want %d", c.size, used, c.used)
		}
	}
	count, bytes, err := r.BlobUse(r.Context(), alice)
	r.must(err)
	if count != 3 || bytes != 100 {
		r.Fatalf("got %v, %v; want 3, 100", count, bytes)
	}
	r.counted()
}

func readers(r *relay) {
	r.agent(alice, bob)
	id := r.blob(alice, 1)
	read := func(want map[mail.Key]error) {
		r.Helper()
		for k, want := range want {
			_, err := r.ReadableBlob(r.Context(), id, k)
			r.want(err, want)
			m := r.message(k, carol)
			m.Blobs, m.Attachments = []string{id}, []byte("[{}]")
			m.Lifetime = time.Second
			if want != nil {
				_, _, err = r.Send(r.Context(), m)
				r.want(err, mail.ErrNoBlob)
			}
		}
	}
	read(map[mail.Key]error{alice: nil, bob: mail.ErrForbidden, carol: mail.ErrForbidden})
	m := r.message(alice, bob)
	m.Lifetime = 5 * time.Minute
	m.Blobs, m.Attachments = []string{id}, []byte("[{}]")
	r.send(m)
	read(map[mail.Key]error{alice: nil, bob: nil, carol: mail.ErrForbidden})
	r.must(r.Delivered(r.Context(), bob, []string{m.ID})) // the message has not expired
	on := r.message(bob, carol)
	on.Lifetime = time.Minute
	on.Blobs, on.Attachments = []string{id}, []byte("[{}]")
	r.send(on)
	read(map[mail.Key]error{alice: nil, bob: nil, carol: nil})
	r.age(6 * time.Minute)
	read(map[mail.Key]error{alice: nil, bob: mail.ErrForbidden, carol: mail.ErrForbidden})
	r.age(6 * time.Minute)
	read(map[mail.Key]error{alice: mail.ErrNotFound, bob: mail.ErrNotFound})
	r.counted()
}

func attachments(r *relay) {
	r.agent(alice)
	first, second := r.blob(alice, 12), r.blob(alice, 3)
	m := r.message(alice, bob)
	m.Blobs = []string{second, first, second}
	m.Attachments = []byte(`[{"blob_id":"x","size":-1,"hash":"no","filename":"a\u0000","encrypted":true},null,{"content_type":"image/png"}]`)
	taken := r.send(m)
	read, err := r.Message(r.Context(), m.ID)
	r.must(err)
	hash := "07" + strings.Repeat("0", 61) + "7"
	want := []any{
		map[string]any{"blob_id": second, "size": 3.0, "hash": hash, "content_type": "text/plain\x00", "filename": "a\x00", "encrypted": true},
		map[string]any{"blob_id": first, "size": 12.0, "hash": hash, "content_type": "text/plain\x00"},
		map[string]any{"blob_id": second, "size": 3.0, "hash": hash, "content_type": "text/plain\x00"},
	}
	for _, m := range []mail.Message{taken, read} {
		var got []any
		r.must(json.Unmarshal(m.Attachments, &got))
		if d := cmp.Diff(want, got); d != "" {
			r.Fatalf("differs (-want +got):\n%s", d)
		}
	}
	for _, wrong := range []string{"", "{}", "[{}]", "[1, 2, 3]"} {
		m := r.message(alice, bob)
		m.Blobs, m.Attachments = []string{first, second}, []byte(wrong)
		if _, _, err := r.Send(r.Context(), m); err == nil {
			r.Errorf("%q was taken", wrong)
		}
	}
	r.counted()
}

func attachedLives(r *relay) {
	r.agent(alice)
	id := r.blob(alice, 12)
	m := r.message(alice, bob)
	m.Blobs, m.Attachments = []string{id}, []byte(`[{}]`)
	r.send(m)
	r.age(50 * time.Minute)
	blobs, _, err := r.Sweep(r.Context(), 10)
	r.must(err)
	r.same(blobs, nil)
	_, err = r.ReadableBlob(r.Context(), id, bob)
	r.must(err)
	r.age(20 * time.Minute)
	blobs, _, err = r.Sweep(r.Context(), 10)
	r.must(err)
	r.same(blobs, []string{id})
	r.counted()
}

func blobsDeleted(r *relay) {
	r.agent(alice, bob)
	id := r.blob(alice, 12)
	r.want(r.DeleteBlob(r.Context(), id, bob), mail.ErrForbidden)
	r.must(r.DeleteBlob(r.Context(), id, alice))
	r.want(r.DeleteBlob(r.Context(), id, alice), mail.ErrNotFound)
	if got := r.counted(); got.Blobs != 0 {
		r.Fatalf("got %+v, want Blobs 0", got)
	}
}

func attachedStays(r *relay) {
	r.agent(alice)
	id := r.blob(alice, 12)
	m := r.message(alice, bob)
	m.Lifetime = 5 * time.Minute
	m.Blobs, m.Attachments = []string{id}, []byte(`[{}]`)
	r.send(m)
	r.want(r.DeleteBlob(r.Context(), id, alice), mail.ErrReferenced)
	r.must(r.Delivered(r.Context(), bob, []string{m.ID}))
	r.want(r.DeleteBlob(r.Context(), id, alice), mail.ErrReferenced)
	r.age(6 * time.Minute)
	r.must(r.DeleteBlob(r.Context(), id, alice))
	r.counted()
}
