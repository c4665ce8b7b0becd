// A real OpenID Connect issuer for the tests: oidc-provider, with people whose groups a test can change.
// node issuer.mjs PORT CLIENT_ORIGIN; it prints "ready". POST /people {name, groups} sets somebody's groups,
// with groups null they have left.
import http from "node:http";
import Provider from "oidc-provider";

const [port, client] = process.argv.slice(2);
const people = new Map();

const provider = new Provider(`http://localhost:${port}`, {
  clients: [
    {
      client_id: "frith",
      client_secret: "a-secret-of-the-tests",
      redirect_uris: [`${client}/sign-in/oidc/callback`],
      backchannel_logout_uri: `${client}/sign-in/oidc/logout`,
      backchannel_logout_session_required: true,
    },
  ],
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"] },
  cookies: { keys: ["a key of the tests"] },
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: true },
    backchannelLogout: { enabled: true },
    rpInitiatedLogout: { enabled: true },
  },
  // its own way of sending refuses loopback addresses, and the server of the tests has one
  fetch: (url, { dispatcher, ...options }) => fetch(url, options),
  async findAccount(ctx, id) {
    const groups = people.get(id);
    if (!groups) return undefined;
    return {
      accountId: id,
      claims: async () => ({ sub: id, preferred_username: id, groups }),
    };
  },
});
const answer = provider.callback();
http
  .createServer(async (request, response) => {
    if (request.url !== "/people") return answer(request, response);
    let text = "";
    for await (const part of request) text += part;
    const { name, groups } = JSON.parse(text);
    groups === null ? people.delete(name) : people.set(name, groups);
    response.end("done");
  })
  .listen(Number(port), "localhost", () => console.log("ready"));
