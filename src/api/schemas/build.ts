/** What the schemas of answers are made of: JSON Schema, as the OpenAPI document has it. */
export type Json = Readonly<Record<string, unknown>>;

export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
export const text = { type: 'string' } as const;
export const number = { type: 'integer' } as const;
export const list = (items: Json) => ({ type: 'array', items });
export const object = (properties: Json, required: readonly string[] = []) => ({
  type: 'object',
  properties,
  ...(required.length > 0 && { required }),
});
export const time = { ...text, format: 'date-time' } as const;

/** TypeBox marks its schemas with hidden properties; a copy as JSON has none. */
export const plain = (schema: unknown): Json => JSON.parse(JSON.stringify(schema)) as Json;
