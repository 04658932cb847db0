// Package holdfast is the Go client of the Holdfast API.
//
// The operations and their types are generated from the API's description.
// Connect adds what every program needs beside them: tokens that are bought
// with an API key and renewed in time, errors with a type, and retries that
// can't do a thing twice.
//
//	client, err := holdfast.Connect("https://holdfast.example", apiKey)
//	…
//	created, err := client.CreateAccountWithResponse(ctx, nil, holdfast.NewAccount{Handle: "ada"})
//	if holdfast.IsCode(err, "handle_taken") {
//		…
//	}
//	fmt.Println(created.JSON201.ID)
//
// An answer that isn't a success is an *Error, so where err is nil the JSON2xx
// field is set.
//
// AllAccounts, AllRecords and their like walk a list to its end, page by page, and
// FollowEvents the directory's feed, which has none.
//
// Hold is for a tenant's processes that take a world over, to write to it alone: it
// keeps the lease, and tells them in time when they must stop.
//
// Publish changes a record once, whatever happens to its answers. ReadRecord,
// ReadBody and BodyCopy read bodies and verify them, DownloadBody and SaveBody large
// ones. FollowExport follows what changes in a collection, and TakeSnapshot begins
// with all of it. WorkBatch is for producers that share their work.
//
// NewDeviceTokens is for applications that devices come to, with tokens of the
// device flow. The devices themselves need nothing of this package: any OAuth
// client does that speaks RFC 8628, golang.org/x/oauth2 say.
package holdfast
