import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';

/** An OpenID provider on loopback: discovery, keys that can be replaced, and tokens of every sort. */
export interface OidcIssuer {
  readonly url: string;
  /** Claims beyond issuer, audience and times, which `claims` may change too. */
  token(claims: JWTPayload, options?: TokenOptions): Promise<string>;
  /** Signs with a new key from now on; those of before stay published unless `forget`. */
  rotate(options?: { readonly forget?: boolean }): Promise<void>;
  /** Answers nobody until `answer`. */
  silence(): void;
  answer(): void;
  /** Requests that came, by path. */
  readonly asked: ReadonlyMap<string, number>;
  close(): Promise<void>;
}

export interface TokenOptions {
  readonly algorithm?: 'RS256' | 'ES256' | 'EdDSA';
  /** Of a key that the issuer does not publish. */
  readonly unpublished?: boolean;
}

interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly jwk: object;
}

export async function startOidcIssuer(audience: string): Promise<OidcIssuer> {
  const published: SigningKey[] = [];
  const asked = new Map<string, number>();
  let silent = false;
  let keys = 0;

  async function newKey(alg: string): Promise<SigningKey> {
    keys += 1;
    const kid = `key-${keys}`;
    const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
    return { kid, alg, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
  }

  for (const alg of ['RS256', 'ES256', 'EdDSA']) published.unshift(await newKey(alg));
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    asked.set(path, (asked.get(path) ?? 0) + 1);
    if (silent) {
      response.writeHead(503).end();
      return;
    }
    const answers: Record<string, unknown> = {
      '/.well-known/openid-configuration': { issuer: url(), jwks_uri: `${url()}/keys` },
      '/keys': { keys: published.map(({ jwk }) => jwk) },
    };
    const body = answers[path];
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    get url() {
      return url();
    },
    asked,
    async token(claims, { algorithm = 'ES256', unpublished = false } = {}) {
      const known = published.find(({ alg }) => alg === algorithm);
      const key = unpublished || known === undefined ? await newKey(algorithm) : known;
      const now = Math.floor(Date.now() / 1000);
      return new SignJWT({ iss: url(), aud: audience, iat: now, exp: now + 600, ...claims })
        .setProtectedHeader({ alg: algorithm, kid: unpublished ? (known?.kid ?? key.kid) : key.kid })
        .sign(key.privateKey);
    },
    async rotate({ forget = false } = {}) {
      if (forget) published.length = 0;
      published.unshift(await newKey('ES256'));
    },
    silence() {
      silent = true;
    },
    answer() {
      silent = false;
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
