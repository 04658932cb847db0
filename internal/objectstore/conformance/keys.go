package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/domain"
)

func anyCharacters(ctx context.Context, at Place) error {
	var faults []error
	for _, name := range []string{"with space", "a+b", "100%", "%41", "ü/日本", "a=b&c?d#e", "~!$'()*,;:@", `"<>\^{|}` + "`"} {
		x := at.random(10)
		x.key = at.Prefix + name
		err := at.store(ctx, x)
		if err == nil {
			err = at.same(ctx, x)
		}
		objects, _, listing := at.Store.List(ctx, x.key, "", 2)
		if err = errors.Join(err, listing); err != nil || len(objects) != 1 || objects[0].Key != x.key {
			faults = append(faults, fmt.Errorf("%q is listed as %v: %w", name, objects, orNothing(err)))
		}
	}
	return errors.Join(faults...)
}

func deletes(ctx context.Context, at Place) error {
	var keys []string
	var bodies []body
	for range 40 {
		x := at.random(10)
		if err := at.store(ctx, x); err != nil {
			return err
		}
		bodies, keys = append(bodies, x), append(keys, x.key)
	}
	if err := at.Store.Delete(ctx, append(slices.Clone(keys[1:]), at.Prefix+"never-was")...); err != nil {
		return err
	}
	if err := at.Store.Delete(ctx, keys[1:]...); err != nil {
		return fmt.Errorf("a second time: %w", err)
	}
	if err := at.Store.Delete(ctx); err != nil {
		return fmt.Errorf("nothing at all: %w", err)
	}
	objects, _, err := at.Store.List(ctx, at.Prefix, "", 10)
	if err != nil || len(objects) != 1 || objects[0].Key != keys[0] {
		return fmt.Errorf("left are %v: %w", objects, orNothing(err))
	}
	return at.same(ctx, bodies[0])
}

func lists(ctx context.Context, at Place) error {
	const bodies, page = 7, 3
	var want []string
	for i := range bodies {
		x := at.body(bytes.Repeat([]byte{byte(i)}, i))
		if err := at.store(ctx, x); err != nil {
			return err
		}
		want = append(want, x.key)
	}
	slices.Sort(want)
	var got []string
	for after, more := "", true; more; {
		var objects []domain.Object
		var err error
		if objects, more, err = at.Store.List(ctx, at.Prefix, after, page); err != nil {
			return err
		}
		if len(objects) != min(page, len(want)-len(got)) {
			return fmt.Errorf("a page of %d behind %d", len(objects), len(got))
		}
		for _, o := range objects {
			got, after = append(got, o.Key), o.Key
			if age := time.Since(o.ModifiedAt); age.Abs() > time.Hour || o.Size < 0 || o.Size >= bodies {
				return fmt.Errorf("%s has %d bytes, and was modified at %s", o.Key, o.Size, o.ModifiedAt)
			}
		}
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the keys are %q, not %q", got, want)
	}
	if objects, more, err := at.Store.List(ctx, at.Prefix+"none", "", page); err != nil || len(objects) != 0 || more {
		return fmt.Errorf("below nothing are %v, more %t: %w", objects, more, orNothing(err))
	}
	return nil
}

func presigns(ctx context.Context, at Place) error {
	x := at.random(1000)
	if err := at.store(ctx, x); err != nil {
		return err
	}
	url, err := at.Store.Presign(ctx, x.key, "items.json", time.Minute)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := at.Client.Do(request)
	if err != nil {
		return errors.New("the presigned URL can't be fetched") // the error would show it
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(io.LimitReader(answer.Body, int64(len(x.bytes))+1))
	if err != nil || answer.StatusCode != http.StatusOK || !bytes.Equal(got, x.bytes) {
		return fmt.Errorf("GET gives %d and %d bytes: %w", answer.StatusCode, len(got), orNothing(err))
	}
	for name, want := range map[string]string{"Content-Disposition": "attachment; filename=items.json", "Content-Type": "application/octet-stream"} {
		if got := answer.Header.Get(name); got != want {
			return fmt.Errorf("%s is %q, not %q", name, got, want)
		}
	}
	return nil
}
