// Command directory keeps a copy of a tenant's directory: it walks all accounts, and
// then goes on with what happens to them. The key's principal needs the scopes
// identity:read and identity:write.
//
//	HOLDFAST_URL=http://127.0.0.1:8080 HOLDFAST_API_KEY=hf_… go run ./clients/go/example/directory
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	holdfast "github.com/holdfast-dev/holdfast/clients/go"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Getenv("HOLDFAST_URL"), os.Getenv("HOLDFAST_API_KEY")); err != nil {
		fmt.Fprintln(os.Stderr, "directory:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, key string) error {
	client, err := holdfast.Connect(url, key)
	if err != nil {
		return err
	}
	// Where the feed is comes before the walk: so nothing falls between the two.
	cursor, err := end(ctx, client)
	if err != nil {
		return err
	}
	accounts := map[holdfast.ID]string{}
	for account, err := range holdfast.AllAccounts(ctx, client, nil) {
		if err != nil {
			return err
		}
		accounts[account.ID] = account.Handle
	}
	fmt.Printf("The directory has %d accounts.\n", len(accounts))

	handle := fmt.Sprintf("Grace-%d", time.Now().UnixNano())
	created, err := client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: handle})
	if err != nil {
		return err
	}
	return follow(ctx, client, cursor, created.JSON201.ID)
}

// end is the cursor behind what has happened so far.
func end(ctx context.Context, client *holdfast.ClientWithResponses) (holdfast.Cursor, error) {
	var params holdfast.ListEventsParams
	for {
		page, err := client.ListEventsWithResponse(ctx, &params)
		if err != nil {
			return "", err
		}
		if !page.JSON200.More {
			return page.JSON200.NextCursor, nil
		}
		params.Cursor = &page.JSON200.NextCursor
	}
}

// follow tells what happens, until it sees a new account. A real copy goes on, and keeps
// each page's cursor with what it made of the page.
func follow(ctx context.Context, client *holdfast.ClientWithResponses, cursor holdfast.Cursor, until holdfast.ID) error {
	for page, err := range holdfast.FollowEvents(ctx, client, cursor) {
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			fmt.Printf("%s: %s\n", event.Kind, event.RecordID)
			if event.RecordID == until {
				fmt.Println("The copy has the new account.")
				return nil
			}
		}
	}
	return ctx.Err()
}
