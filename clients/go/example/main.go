// Command example makes an account, verifies its email, finds it again, and
// shows what a conflict looks like.
//
//	HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_API_KEY=hf_… go run ./clients/go/example
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("HOLDFAST_URL"), os.Getenv("HOLDFAST_API_KEY")); err != nil {
		fmt.Fprintln(os.Stderr, "example:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key string) error {
	client, err := holdfast.Connect(url, key)
	if err != nil {
		return err
	}

	// An email that nobody has verified begins as a pending change.
	handle := fmt.Sprintf("Ada-%d", time.Now().UnixNano())
	email := handle + "@example.com"
	created, err := client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: handle, Email: &email})
	if err != nil {
		return err
	}
	account := created.JSON201
	fmt.Printf("Made %s, at revision %d.\n", account.Handle, account.Revision)
	change := account.EmailChange
	fmt.Printf("Send the code %s to %s.\n", change.Code, change.Email)

	// Whoever comes back with the code has the address.
	confirmed, err := client.ConfirmEmailChangeWithResponse(ctx, account.ID, change.ID, holdfast.EmailCode{Code: change.Code})
	if err != nil {
		return err
	}
	fmt.Printf("It is verified, at revision %d.\n", confirmed.JSON200.Revision)

	// A handle is found whatever its letter case.
	shouted := strings.ToUpper(handle)
	found, err := client.LookupAccountWithResponse(ctx, holdfast.LookupKey{Handle: &shouted})
	if err != nil {
		return err
	}
	fmt.Printf("%s is %s.\n", shouted, found.JSON200.ID)

	// A handle has one owner.
	_, err = client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: handle})
	if !holdfast.IsCode(err, "handle_taken") {
		return fmt.Errorf("a second %s: %w", handle, err)
	}
	fmt.Println("A second one is refused:", err)

	// A change names the revision that it was made from.
	etag := found.Headers200.ETag
	disabled := holdfast.AccountPatchStatusDisabled
	patched, err := client.PatchAccountWithResponse(ctx, account.ID, &holdfast.PatchAccountParams{IfMatch: &etag}, holdfast.AccountPatch{Status: &disabled})
	if err != nil {
		return err
	}
	fmt.Printf("It is %s now, at revision %d.\n", patched.JSON200.Status, patched.JSON200.Revision)
	return nil
}
