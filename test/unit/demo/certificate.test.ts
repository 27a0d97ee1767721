import { X509Certificate } from 'node:crypto';
import { expect, it } from 'vitest';
import { certificateObject, createAuthority } from '../../../src/demo/certificate.ts';
import { inspectCertificate } from '../../../src/lib/x509.ts';
import { parseObject } from '../../../src/model/index.ts';

it('certificates are taken by Fairway, differ, and are signed by their authority', async () => {
  const authority = await createAuthority();
  const issued = await Promise.all(['0A', '0B'].map((serial) => authority.issue('shop.example', serial)));
  expect(issued.map(({ serial }) => serial)).toEqual(['0A', '0B']);
  for (const certificate of issued) {
    const object = certificateObject('shop-tls', certificate);
    expect(parseObject(object)).toEqual({ ok: true, value: object });
    const facts = inspectCertificate({ chain: certificate.chain, key: certificate.key }, Date.now());
    expect(facts).toMatchObject({ ok: true, value: { subject: 'CN=shop.example', sans: ['DNS:shop.example'] } });
    const leaf = new X509Certificate(certificate.chain);
    expect(leaf.serialNumber).toBe(certificate.serial);
    expect(leaf.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
  }
});
