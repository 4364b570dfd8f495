/** A parameter of Stripe's API. `line_items[0][price_data][currency]=eur` is a value within objects within a list. */
export type FormValue = string | FormList | FormObject;
export type FormList = readonly FormValue[];
export interface FormObject {
  readonly [name: string]: FormValue;
}

type Draft = { [name: string]: Draft | string };

/** Parses a body or query like Stripe: nesting in brackets, numbered lists. */
export function parseForm(text: string): FormObject {
  const draft: Draft = Object.create(null);
  for (const [key, value] of new URLSearchParams(text)) {
    const path = key.split(/\]?\[|\]$/).filter(part => part !== '');
    const last = path.pop() ?? '';
    let at = draft;
    for (const part of path) {
      const inner = at[part];
      const next: Draft = typeof inner === 'object' ? inner : Object.create(null);
      at[part] = next;
      at = next;
    }
    at[last] = value;
  }
  return settle(draft) as FormObject;
}

function settle(draft: Draft | string): FormValue {
  if (typeof draft === 'string') return draft;
  const entries = Object.entries(draft).map(([name, value]) => [name, settle(value)] as const);
  const isList = entries.length > 0 && entries.every(([name], index) => name === String(index));
  return isList ? entries.map(([, value]) => value) : Object.fromEntries(entries);
}

export function isFormObject(value: FormValue | undefined): value is FormObject {
  return typeof value === 'object' && !Array.isArray(value);
}

export function isFormList(value: FormValue | undefined): value is FormList {
  return Array.isArray(value);
}
