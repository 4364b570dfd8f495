import type { LocalText } from '@postern/api';
import { argumentsOf, type Injection } from './injections.ts';
import { folded, KnownNames } from './message.ts';

/** An absent hint has the default of MCP. */
const DEFAULTS = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true } as const;
export const hintNames = Object.keys(DEFAULTS) as readonly (keyof typeof DEFAULTS)[];

/** Hints of a tool, as MCP defines them. */
export type Hints = { readonly [Name in keyof typeof DEFAULTS]?: boolean | undefined };

export const actions = ['pass', 'confirm', 'deny', 'hide'] as const;
export type Action = (typeof actions)[number];

/** How a person is asked. */
export interface ConfirmTerms {
  readonly title?: LocalText | undefined;
  readonly action?: LocalText | undefined;
  readonly danger?: 'normal' | 'caution' | 'destructive' | undefined;
  readonly ttlSeconds?: number | undefined;
}

export interface Rule {
  readonly action: Action;
  readonly confirm: ConfirmTerms;
  /** Undefined: every tool. */
  readonly patterns: readonly string[] | undefined;
  readonly annotations: Hints;
  /** Whether the arguments meet the rule. Undefined: any do. */
  readonly meets: ((args: unknown) => boolean) | undefined;
  /** Names of arguments that `meets` looks at. */
  readonly argumentNames: readonly string[];
  /** Accounts first. */
  readonly injections: readonly Injection[];
}

export interface RulesOptions {
  /** The first one that matches decides. */
  readonly rules: readonly Rule[];
  readonly default: Action;
  readonly trustAnnotations: boolean;
}

export interface Decision {
  readonly action: Action;
  /** Which rule, counted from 1; or why none. */
  readonly by: number | 'annotations' | 'default';
  readonly confirm: ConfirmTerms;
  readonly injections: readonly Injection[];
}

/** A tool as its upstream lists it. `hints` is empty for one that is not listed. */
export interface ToolFacts {
  readonly name: string;
  readonly hints: Hints;
}

/** Decides what happens to a tool. */
export class Rules {
  readonly #p: RulesOptions;
  readonly #patterns: readonly (readonly string[] | undefined)[];

  /** Names of arguments that decide. */
  readonly argumentNames: KnownNames;

  constructor(p: RulesOptions) {
    this.#p = p;
    this.#patterns = p.rules.map(({ patterns }) => patterns?.map(folded));
    this.argumentNames = new KnownNames(p.rules.flatMap(({ argumentNames }) => argumentNames));
  }

  /** Whether the lists of the upstream are changed. */
  get changesLists(): boolean {
    const changes = ({ action, injections }: Rule) => action === 'hide' || argumentsOf(injections).length > 0;
    return this.#p.default === 'hide' || this.#p.rules.some(changes);
  }

  /** Whether the upstream gets secrets. */
  get injectsAny(): boolean {
    return this.#p.rules.some(({ injections }) => injections.length > 0);
  }

  /** Whether a decision depends on what the tool says of itself. */
  get needsHints(): boolean {
    return this.#p.trustAnnotations || this.#p.rules.some(({ annotations }) => Object.keys(annotations).length > 0);
  }

  get trustsAnnotations(): boolean {
    return this.#p.trustAnnotations;
  }

  /** Whether a decision depends on the arguments. */
  get needsArguments(): boolean {
    return this.#p.rules.some(({ meets }) => meets !== undefined);
  }

  /** @param args undefined: rules with `when` do not match */
  decide({ name, hints }: ToolFacts, args: unknown): Decision {
    for (const [by, { action, confirm, injections, meets }] of this.#of({ name, hints }))
      if (meets === undefined || (isObject(args) && meets(args))) return { action, by, confirm, injections };
    if (this.#p.trustAnnotations && hints.readOnlyHint === true)
      return { action: 'pass', by: 'annotations', confirm: {}, injections: [] };
    return { action: this.#p.default, by: 'default', confirm: {}, injections: [] };
  }

  /** What a call of the tool may get, by its arguments. */
  injectionsOf(tool: ToolFacts): readonly Injection[] {
    const injections: Injection[] = [];
    for (const [, rule] of this.#of(tool)) {
      injections.push(...rule.injections);
      if (rule.meets === undefined) break;
    }
    return injections;
  }

  /** Rules that match a tool, if the arguments meet them. */
  *#of({ name, hints }: ToolFacts): Generator<readonly [number, Rule]> {
    const own = folded(name);
    for (const [index, rule] of this.#p.rules.entries()) {
      const patterns = this.#patterns[index];
      const isNamed = patterns === undefined || patterns.some(pattern => matches(own, pattern));
      if (isNamed && hasHints(hints, rule.annotations)) yield [index + 1, rule];
    }
  }
}

/** A list or a text meets any schema that says nothing of its type. */
const isObject = (args: unknown): boolean => typeof args === 'object' && args !== null && !Array.isArray(args);

function hasHints(hints: Hints, wanted: Hints): boolean {
  return hintNames.every(name => wanted[name] === undefined || (hints[name] ?? DEFAULTS[name]) === wanted[name]);
}

/** Whether a text matches a pattern, in small letters, in which `*` stands for any text. Linear in the text for each part of the pattern. */
export function matches(text: string, pattern: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return text === first;
  if (!text.startsWith(first)) return false;
  let at = first.length;
  for (const part of rest) {
    const found = text.indexOf(part, at);
    if (found === -1) return false;
    at = found + part.length;
  }
  return text.length - at >= last.length && text.endsWith(last);
}
