import { HostError } from '../errors.ts';

type Members = Readonly<Record<string, unknown>>;

/** Compiles a JSON schema with the validator of an SDK. */
export type CompileSchema = (schema: Record<string, unknown>) => (content: unknown) => boolean;

/**
 * Of schemas, and of the names and values in them. Compiling takes about 1 ms for each schema and 0.2 ms for each name or value. Large
 * schemas in use have some hundreds.
 */
const MAX_SCHEMAS = 500;
const MAX_VALUES = 5_000;
/** Of nested schemas, and of nested validations: a level of the content takes about four. */
const MAX_DEPTH = 1_000;
/** Steps of one validation. A step takes 0.1 to 1 µs. */
const MAX_STEPS = 1_500_000;

/** Keywords without schemas, whose values are primitive or lists of primitives. */
const ASSERTIONS = new Set([
  ...['type', 'nullable', 'const', 'enum', 'required', 'minProperties', 'maxProperties', 'minItems', 'maxItems'],
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
]);
/** Keywords with schemas for members of an object, and for items of a list. */
const WITHIN_OBJECTS = ['properties', 'additionalProperties'] as const;
const WITHIN_LISTS = ['items', 'prefixItems', 'additionalItems'] as const;
const WITHIN: ReadonlySet<string> = new Set([...WITHIN_OBJECTS, ...WITHIN_LISTS]);

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPrimitive = (value: unknown) => typeof value !== 'object' || value === null;

const refuse = (message: string) => new HostError('invalid_result', message);

/** Within `not`, Ajv stops at the first error and keeps none. Otherwise it copies all earlier errors with each further one. */
const silently = (schema: unknown) => ({ not: { not: schema } });

/** No definition lacks a `$ref`, because Ajv repeats the code of one without at each reference. */
const UNREPEATED = { $ref: '#/$defs/any' };

/**
 * Reduces the schema of an MCP server to what a validator checks in few steps: without regular expressions (`pattern`, `format`),
 * comparison of whole values, and references other than to `$defs`. It accepts all that the schema of the MCP server accepts. So it
 * has no negations either, because what is missing in them would refuse more: `oneOf` becomes `anyOf`.
 */
class ReducedSchema {
  readonly nodes: Members[] = [];
  readonly defs: Record<string, unknown> = { any: true };
  readonly root: Record<string, unknown>;
  readonly #ids = new Map<string, Members>();
  readonly #names = new Map<unknown, string>();
  #size = 0;
  #values = 0;

  constructor(source: Members) {
    const found: unknown[] = [source];
    for (const value of found) {
      if (typeof value !== 'object' || value === null) continue;
      if ('$id' in value && typeof value.$id === 'string') this.#ids.set(value.$id, value as Members);
      for (const each of Object.values(value)) found.push(each);
    }
    const { $schema } = source;
    const schema = silently(this.#reduced(source, source, 0));
    this.root = { ...($schema !== undefined && { $schema }), $defs: this.defs, ...schema };
  }

  /** `base` is the schema that references without an id start from. */
  #reduced(schema: unknown, base: Members, depth: number): unknown {
    if (++this.#size > MAX_SCHEMAS) throw refuse(`the output schema consists of more than ${MAX_SCHEMAS} schemas`);
    if (depth > MAX_DEPTH) throw refuse(`the output schema is deeper than ${MAX_DEPTH} levels`);
    if (typeof schema === 'boolean') return schema;
    if (!isMembers(schema)) throw refuse('the output schema contains something other than schemas');
    if ('$dynamicRef' in schema || '$recursiveRef' in schema)
      throw refuse('the output schema contains $dynamicRef or $recursiveRef, which are not supported');
    const own = '$id' in schema ? schema : base;
    const node: Record<string, unknown> = {};
    const allOf: unknown[] = [];
    for (const [keyword, value] of Object.entries(schema)) {
      if (ASSERTIONS.has(keyword) && [value].flat().every(isPrimitive)) {
        this.#count(Array.isArray(value) ? value.length : 1);
        node[keyword] = value;
      }
      // What only a pattern would allow must stay allowed.
      else if (keyword === 'additionalProperties' && 'patternProperties' in schema) continue;
      else if (WITHIN.has(keyword)) node[keyword] = this.#each(value, keyword === 'properties', own, depth);
      else if (keyword === 'allOf') allOf.push(...[this.#each(value, false, own, depth)].flat());
      else if (keyword === 'anyOf' || keyword === 'oneOf')
        allOf.push(silently({ anyOf: this.#each(value, false, own, depth) }));
      else if (keyword === '$ref') allOf.push({ $ref: `#/$defs/${this.#definitionOf(value, own, depth)}` });
    }
    if (allOf.length > 0) node['allOf'] = allOf;
    this.nodes.push(node);
    return node;
  }

  #each(value: unknown, isMap: boolean, base: Members, depth: number): unknown {
    if (Array.isArray(value)) return value.map(each => this.#reduced(each, base, depth + 1));
    if (!isMap || !isMembers(value)) return this.#reduced(value, base, depth + 1);
    const members = Object.entries(value);
    this.#count(members.length);
    // Ajv finds an inherited member in every object.
    return Object.fromEntries(
      members.map(([name, each]) => [name, name in Object.prototype || this.#reduced(each, base, depth + 1)]),
    );
  }

  #count(values: number): void {
    this.#values += values;
    if (this.#values > MAX_VALUES) throw refuse(`the output schema has more than ${MAX_VALUES} names and values`);
  }

  #definitionOf(reference: unknown, base: Members, depth: number): string {
    const [id = '', pointer = '', ...more] = typeof reference === 'string' ? reference.split('#') : [];
    const document = id === '' ? base : this.#ids.get(id);
    const target = more.length > 0 || document === undefined ? undefined : memberAt(document, pointer);
    if (document === undefined || target === undefined)
      throw refuse('the output schema contains a reference that cannot be resolved');
    const known = this.#names.get(target);
    if (known !== undefined) return known;
    const name = `d${this.#names.size}`;
    this.#names.set(target, name);
    this.defs[name] = { ...UNREPEATED, ...silently(this.#reduced(target, document, depth + 1)) };
    return name;
  }
}

/** @returns what a JSON pointer of a URI names */
function memberAt(document: Members, pointer: string): unknown {
  const [first, ...steps] = pointer.split('/');
  if (first !== '') return undefined;
  return steps.reduce<unknown>((value, step) => {
    const name = decoded(step)?.replaceAll('~1', '/').replaceAll('~0', '~');
    if (name === undefined || typeof value !== 'object' || value === null || !Object.hasOwn(value, name))
      return undefined;
    return (value as Members)[name];
  }, document);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * Counts the steps of a validation before it runs. A validator visits a pair of schema and value as often as references and
 * alternatives lead there; the count visits each pair once.
 */
class Steps {
  readonly #defs: Members;
  readonly #known = new Map<unknown, Map<unknown, number | 'running'>>();
  #counted = 0;

  constructor(defs: Members) {
    this.#defs = defs;
  }

  /** @throws {HostError} if there are too many, or if they never end */
  of(schema: unknown, content: unknown, depth = 0): number {
    if (!isMembers(schema)) return 1;
    const known = this.#known.get(schema) ?? new Map<unknown, number | 'running'>();
    this.#known.set(schema, known);
    const key = likeness(content);
    const before = known.get(key);
    if (before === 'running') throw refuse('the output schema refers to itself endlessly');
    if (before !== undefined) return before;
    if (depth > MAX_DEPTH) throw refuse('the structured content or its output schema is too deep');
    known.set(key, 'running');
    let steps = ownSteps(schema, content);
    this.#counted += steps;
    for (const [each, value] of this.#within(schema, content)) {
      steps += this.of(each, value, depth + 1);
      if (Math.max(steps, this.#counted) > MAX_STEPS)
        throw refuse(`the validation of the structured content takes more than ${MAX_STEPS} steps`);
    }
    known.set(key, steps);
    return steps;
  }

  /** The schemas in a schema, each with a value that it checks. */
  *#within(schema: Members, content: unknown): Generator<[unknown, unknown]> {
    const { $ref, allOf = [], anyOf = [], not } = schema;
    if (typeof $ref === 'string') yield [this.#defs[$ref.slice('#/$defs/'.length)], content];
    for (const each of [allOf, anyOf, not ?? []].flat()) yield [each, content];
    if (typeof content !== 'object' || content === null) return;
    const isList = Array.isArray(content);
    for (const keyword of isList ? WITHIN_LISTS : WITHIN_OBJECTS) {
      const within = schema[keyword];
      if (within === undefined) continue;
      if (keyword === 'properties' && isMembers(within)) {
        for (const [name, each] of Object.entries(within))
          if (Object.hasOwn(content, name)) yield [each, (content as Members)[name]];
      } else if (Array.isArray(within))
        for (const [at, each] of within.entries()) yield [each, (content as unknown[])[at]];
      else for (const value of Object.values(content)) yield [within, value];
    }
  }
}

/** Values with the same steps: texts of one length, and all of the other primitive values. */
function likeness(content: unknown): unknown {
  if (typeof content === 'string') return content.length;
  return isPrimitive(content) ? undefined : content;
}

/** The steps of a schema without those of the schemas in it. */
function ownSteps(schema: Members, content: unknown): number {
  let steps = 1;
  for (const [keyword, value] of Object.entries(schema)) {
    const size = typeof value === 'object' && value !== null ? Object.keys(value).length : 1;
    // Each failed alternative copies the errors of those before it.
    steps += keyword === 'anyOf' ? size + size ** 2 / 16 : size;
  }
  if (typeof content === 'string') return steps + content.length / 64;
  return typeof content === 'object' && content !== null ? steps + Object.keys(content).length : steps;
}

/**
 * Builds the check of structured content against the output schema.
 *
 * @throws {HostError} `invalid_result`, before or in the check, if it would take too long
 */
export function outputCheck(outputSchema: Members, compile: CompileSchema): (content: unknown) => boolean {
  const { defs, root, nodes } = new ReducedSchema(outputSchema);
  const alone = new Steps(defs);
  for (const node of nodes) alone.of(node, null);
  const validate = compile(root);
  return content => {
    new Steps(defs).of(root, content);
    return validate(content);
  };
}
