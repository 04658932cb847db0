"use strict";

// The page loads nothing but what its own server has: the description beside it, and
// no validator's badge. What somebody tries out goes to that server too.
SwaggerUIBundle({
  url: new URL("openapi.json", document.baseURI).href,
  dom_id: "#docs",
  validatorUrl: null,
  deepLinking: true, // so that an operation has an address: #/accounts/createAccount
  docExpansion: "list",
  filter: true,
  defaultModelsExpandDepth: 0,
  defaultModelExpandDepth: 2,
  displayRequestDuration: true,
  showExtensions: false,
  persistAuthorization: false, // what is typed in here goes with the page
});
