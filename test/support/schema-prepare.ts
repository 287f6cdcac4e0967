/**
 * Turns the schemas of an OpenAPI document into plain JSON Schema, and unions into choices by `type`: a wrong
 * event is then reported by its own error, not by how it differs from 57 others.
 */
export type Schema = Readonly<Record<string, unknown>>;
export type Schemas = Readonly<Record<string, Schema>>;

const PREFIX = '#/components/schemas/';

export const prepareSchemas = (schemas: Schemas): Schemas =>
  mapValues(schemas, (schema, name) => convert(schema, name, schemas));

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** `if`, `then`, `else` in one place. */
export const choose = (test: Schema, yes: unknown, no: unknown): Schema => ({
  if: test,
  // oxlint-disable-next-line unicorn/no-thenable -- it is the keyword's name, and schemas are not awaited
  then: yes,
  else: no,
});

const mapValues = (map: Schemas, change: (value: Schema, key: string) => Schema): Schemas =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, change(value, key)]));

/** Keywords of OpenAPI or an older JSON Schema, and annotations that do not constrain a value. */
const DROPPED = new Set([
  'nullable',
  'discriminator',
  '$recursiveRef',
  '$recursiveAnchor',
  'example',
  'default',
]);

const convert = (schema: Schema, owner: string, all: Schemas): Schema => {
  const inside = (value: unknown): unknown => (isSchema(value) ? convert(value, owner, all) : value);
  const converted: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (DROPPED.has(key)) continue;
    if (key === 'properties' && isSchema(value))
      converted[key] = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inside(one)]));
    else if (UNIONS.includes(key) || key === 'allOf')
      converted[key] = Array.isArray(value) ? value.map(inside) : value;
    else converted[key] = inside(value);
  }
  // The only user of the old keyword means "the enclosing schema".
  if (schema['$recursiveRef'] !== undefined) converted['$ref'] = `${PREFIX}${owner}`;
  const plain = byType(converted, all);
  return schema['nullable'] === true ? { anyOf: [plain, { type: 'null' }] } : plain;
};

const UNIONS = ['anyOf', 'oneOf'];

/** The values of `type` that a branch covers; null if it is not an object with a fixed one. */
const tagsOf = (branch: unknown, all: Schemas, depth = 0): readonly unknown[] | null => {
  if (!isSchema(branch) || depth > 8) return null;
  const ref = branch['$ref'];
  if (typeof ref === 'string') return tagsOf(all[ref.slice(PREFIX.length)], all, depth + 1);
  for (const key of UNIONS) {
    const inner = branch[key];
    if (!Array.isArray(inner)) continue;
    const tags = inner.map((one) => tagsOf(one, all, depth + 1));
    return tags.every((one) => one !== null) ? tags.flat() : null;
  }
  if (Array.isArray(branch['allOf']))
    return branch['allOf'].map((one) => tagsOf(one, all, depth + 1)).find((one) => one !== null) ?? null;
  const type = isSchema(branch['properties']) ? branch['properties']['type'] : undefined;
  if (!isSchema(type)) return null;
  if (type['const'] !== undefined) return [type['const']];
  return Array.isArray(type['enum']) ? type['enum'] : null;
};

/** Whether a branch can never be an object, so that it does not compete with the tagged ones. */
const isNoObject = (branch: unknown): boolean =>
  isSchema(branch) && typeof branch['type'] === 'string' && branch['type'] !== 'object';

const isNull = (branch: unknown): boolean => isSchema(branch) && branch['type'] === 'null';

const byType = (schema: Schema, all: Schemas): Schema => {
  const key = UNIONS.find((one) => Array.isArray(schema[one])) ?? '';
  const branches: unknown = schema[key];
  if (!Array.isArray(branches)) return schema;
  const { [key]: _, ...rest } = schema;
  const also = (one: unknown): Schema => ({
    ...rest,
    allOf: [...(Array.isArray(rest['allOf']) ? rest['allOf'] : []), one],
  });
  const real = branches.filter((branch) => !isNull(branch));
  // Otherwise an error in the only real branch would also be reported as "must be null".
  if (real.length === 1 && branches.length === 2) return also(choose({ type: 'null' }, true, real[0]));
  const others = branches.filter(isNoObject);
  const tagged = branches
    .filter((branch) => !isNoObject(branch))
    .map((branch) => ({ branch, tags: tagsOf(branch, all) }));
  const groups = new Map<unknown, unknown[]>();
  for (const { branch, tags } of tagged) {
    if (tags === null) return schema;
    for (const tag of tags) groups.set(tag, [...(groups.get(tag) ?? []), branch]);
  }
  if (groups.size < 2) return schema;
  const choice = {
    type: 'object',
    required: ['type'],
    properties: { type: { enum: [...groups.keys()] } },
    allOf: [...groups].map(([tag, members]) =>
      choose(
        { properties: { type: { const: tag } } },
        members.length === 1 ? members[0] : { anyOf: members },
        true,
      ),
    ),
  };
  return also(others.length === 0 ? choice : choose({ type: 'object' }, choice, { anyOf: others }));
};
