// Command device logs in as a device does that has no keyboard: with a standard
// OAuth client, and nothing of Holdfast's. It needs the id of a public client,
// and somebody who approves the code that it shows.
//
//	HOLDFAST_URL=http://127.0.0.1:8080 CLIENT_ID=hfc_… go run ./clients/go/example/device
package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"

	"golang.org/x/oauth2"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Getenv("HOLDFAST_URL"), os.Getenv("CLIENT_ID")); err != nil {
		fmt.Fprintln(os.Stderr, "device:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, issuer, clientID string) error {
	config := oauth2.Config{ClientID: clientID, Endpoint: oauth2.Endpoint{
		DeviceAuthURL: issuer + "/v1/oauth/device_authorization",
		TokenURL:      issuer + "/v1/oauth/token",
		AuthStyle:     oauth2.AuthStyleInParams, // a public client has no secret to put into a header
	}}
	login, err := config.DeviceAuth(ctx, oauth2.SetAuthURLParam("label", "Example device"))
	if err != nil {
		return err
	}
	fmt.Printf("Go to %s and type %s\n", login.VerificationURI, login.UserCode)

	// It polls at the pace that the service asks for, until the code is approved,
	// denied, or has expired.
	token, err := config.DeviceAccessToken(ctx, login)
	if err != nil {
		return err
	}
	fmt.Println("It is let in, until", token.Expiry.Format("15:04:05"))

	// A refresh token is good once: keep the one that comes with the answer. A
	// client made by config.Client does all this by itself.
	token, err = config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	if err != nil {
		return err
	}
	fmt.Println("It has other tokens, until", token.Expiry.Format("15:04:05"))
	return signOut(issuer, clientID, token.RefreshToken)
}

// signOut gives the refresh token back (RFC 7009), which ends the device.
func signOut(issuer, clientID, refreshToken string) error {
	response, err := http.PostForm(issuer+"/v1/oauth/revoke", url.Values{"client_id": {clientID}, "token": {refreshToken}})
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("sign out: %s", response.Status)
	}
	fmt.Println("It has signed out.")
	return nil
}
