/** What a server needs for mutual TLS, PEM. */
export interface Material {
  readonly certificate: string;
  readonly key: string;
  /** Whose signatures on certificates of clients count. */
  readonly ca: string;
  /** Revocation lists: one of each of these CAs, or of none. */
  readonly crl?: string;
}

/** Material that is replaced while it is in use. */
export interface LiveCredentials {
  current(): Material;
  /** Calls back when there is other material; gives the function that ends it. */
  onChange(listener: () => void): () => void;
  close(): Promise<void>;
}
