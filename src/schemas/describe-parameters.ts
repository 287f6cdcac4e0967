import {
  isJsonObject,
  type Json,
  type JsonObject,
  resolvePointer,
  parseJsonObject,
} from '../kit/json/json.ts';
import { listOfJson, sampleArguments } from './sample-value.ts';
import type { Guidance } from '../engine/prose-tools/prose-request.ts';

/** Limit for one tool; the schema contains the rest. */
const MAX_LINES = 200;
const MAX_DEPTH = 6;
const MAX_STEPS = 2_000;
const MAX_OPTIONS = 30;

/** Describes the parameters of a tool, one line each: name, type, whether it is required, and its description. */
export const describeParameters = (schema: JsonObject): readonly string[] => {
  const describing = new Describing(schema);
  describing.members(schema, { depth: 0, refs: [] });
  const { lines } = describing;
  if (lines.length === 0) return ['- none'];
  return lines.length <= MAX_LINES ? lines : [...lines.slice(0, MAX_LINES), '- more: see the schema'];
};

/** The position in the schema, and the references followed, to detect cycles. */
interface Spot {
  readonly depth: number;
  readonly refs: readonly string[];
}

class Describing {
  readonly #root: JsonObject;
  readonly lines: string[] = [];
  #steps = 0;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** The members of an object, including objects in a list or among alternatives. */
  members(schema: Json | undefined, spot: Spot): void {
    this.#steps += 1;
    if (this.#steps > MAX_STEPS || spot.depth > MAX_DEPTH) return;
    const { own, refs } = this.#followed(schema, spot.refs);
    const required = new Set(listOfJson(own['required']));
    const properties = isJsonObject(own['properties']) ? own['properties'] : {};
    for (const [name, member] of Object.entries(properties)) {
      if (this.lines.length > MAX_LINES) return;
      this.#line(name, required.has(name), member, { ...spot, refs });
    }
    const others = own['additionalProperties'];
    if (isJsonObject(others)) this.#line('any other name', false, others, { ...spot, refs });
    for (const part of [own['items'], ...partsOf(own)]) {
      if (part !== undefined) this.members(part, { ...spot, refs });
    }
  }

  #line(name: string, isRequired: boolean, schema: Json | undefined, spot: Spot): void {
    const { own, refs } = this.#followed(schema, spot.refs);
    const facts = [...this.#type(own, refs), isRequired ? 'required' : 'optional', ...optionsOf(own)];
    const description = own['description'];
    const words = typeof description === 'string' ? `: ${description.replaceAll(/\s+/g, ' ').trim()}` : '';
    this.lines.push(`${'  '.repeat(spot.depth)}- ${name} (${facts.join(', ')})${words}`);
    this.members(own, { depth: spot.depth + 1, refs });
  }

  #type(own: JsonObject, refs: readonly string[]): readonly string[] {
    const { type } = own;
    if (typeof type === 'string') {
      const items = type === 'array' ? this.#type(this.#followed(own['items'], refs).own, refs) : [];
      return [items.length === 0 ? type : `${type} of ${items.join(' or ')}`];
    }
    if (Array.isArray(type)) return [listOfJson(type).map(String).join(' or ')];
    const parts = partsOf(own).flatMap((part) => this.#followed(part, refs).own['type'] ?? []);
    const names = new Set(parts.filter((name) => typeof name === 'string'));
    return names.size === 0 ? [] : [[...names].join(' or ')];
  }

  /** The target of a reference, with the description next to the reference. */
  #followed(
    schema: Json | undefined,
    refs: readonly string[],
  ): { readonly own: JsonObject; readonly refs: readonly string[] } {
    if (!isJsonObject(schema)) return { own: {}, refs };
    const { $ref: target, ...own } = schema;
    if (typeof target !== 'string') return { own: schema, refs };
    if (refs.includes(target)) return { own, refs };
    const found = resolvePointer(this.#root, target);
    return this.#followed({ ...(isJsonObject(found) ? found : {}), ...own }, [...refs, target]);
  }
}

const partsOf = (own: JsonObject): readonly Json[] =>
  ['allOf', 'anyOf', 'oneOf'].flatMap((union) => listOfJson(own[union]).slice(0, MAX_OPTIONS));

const optionsOf = (own: JsonObject): readonly string[] => {
  if (own['const'] !== undefined) return [`always ${JSON.stringify(own['const'])}`];
  const options = listOfJson(own['enum']).map((option) => JSON.stringify(option));
  if (options.length === 0) return [];
  const shown = options.slice(0, MAX_OPTIONS).join(', ');
  return [`one of ${shown}${options.length > MAX_OPTIONS ? ', …' : ''}`];
};

/** Longer examples are not worth their tokens. */
const MAX_EXAMPLE_CHARS = 2_000;

/** Describes the parameters of a tool in prose; null if the schema is too deep. */
export const guideTo = (text: string): Guidance | null => {
  const schema = parseJsonObject(text);
  if (schema === null) return null;
  try {
    const example = sampleArguments(schema);
    const written = example === undefined ? null : JSON.stringify(example);
    return {
      parameters: describeParameters(schema),
      example: written !== null && written.length <= MAX_EXAMPLE_CHARS ? written : null,
    };
  } catch (error) {
    // Schemas may be nested deeper than the stack.
    if (error instanceof RangeError) return null;
    throw error;
  }
};
