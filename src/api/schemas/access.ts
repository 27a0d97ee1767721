import { tokenRequestSchema } from '../../model/index.ts';
import { list, object, plain, ref, text, time } from './build.ts';

const tokenProperties = {
  id: { ...text, description: 'The half of its text that is no secret.' },
  name: { ...text, description: 'As in role bindings.' },
  createdAt: time,
  createdBy: text,
  expiresAt: { ...text, format: 'date-time', description: 'Absent: when it is deleted.' },
};
const grant = object({ binding: text, role: text, scopes: list(text), permissions: list(text) });

export const accessSchemas = {
  TokenRequest: plain(tokenRequestSchema),
  Token: object(tokenProperties),
  NewToken: object({ ...tokenProperties, token: { ...text, description: 'Its text. It is not kept.' } }),
  TokenList: object({ metadata: object({ revision: text }), items: list(ref('Token')) }),
  Whoami: object({
    name: text,
    kind: { enum: ['token', 'certificate', 'oidc', 'local'] },
    groups: list(text),
    grants: list(grant),
  }),
};
