import type { FieldError } from '../lib/errors.ts';
import type { Result } from '../lib/result.ts';
import { type CertificateFacts, inspectCertificate } from '../lib/x509.ts';
import type { CertificateSpec } from '../model/index.ts';

type Inspected = Result<CertificateFacts, readonly FieldError[]>;

/** Reading a chain and its key takes about as long as all the rest of a hundred statuses, and gives the same each time. */
const inspections = new WeakMap<
  CertificateSpec,
  { readonly result: Inspected; readonly from: number; readonly until: number }
>();

/** A fault may be one of time, that of a certificate that is not valid yet for instance: it is looked at again. */
const faultMs = 60_000;

/** The facts or the faults of a certificate at `nowMs`, worked out once for each spec and time of validity. */
export function inspectOnce(spec: CertificateSpec, nowMs: number): Inspected {
  const known = inspections.get(spec);
  if (known !== undefined && known.from <= nowMs && nowMs < known.until) return known.result;
  const result = inspectCertificate(spec, nowMs);
  const until = result.ok ? Date.parse(result.value.notAfter) : nowMs + faultMs;
  inspections.set(spec, { result, from: nowMs, until });
  return result;
}
