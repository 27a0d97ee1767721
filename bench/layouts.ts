/** How streams lie on connections: some proxies and most load balancers in between share them, an Envoy has its own. */
export interface Layout {
  readonly name: string;
  readonly streamsPerConnection: number;
}

export const shared: Layout = { name: '50 streams a connection', streamsPerConnection: 50 };
export const single: Layout = { name: '1 stream a connection', streamsPerConnection: 1 };
