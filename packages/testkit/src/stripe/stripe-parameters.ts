import { invalidRequest } from './stripe-api-error.ts';
import { type FormObject, type FormValue, isFormList } from './stripe-form.ts';

/** The supported parameters. `true`: a value or any nested parameters. A list has the parameters of its items. */
export type KnownParameters = true | { readonly [name: string]: KnownParameters };

/** @throws StripeApiError 400 that names every unknown parameter at any depth */
export function refuseUnknown(form: FormObject, known: KnownParameters): void {
  const unknown = unknownIn(form, known, '');
  const [param] = unknown;
  if (param === undefined) return;
  const message = `Received unknown parameter${unknown.length > 1 ? 's' : ''}: ${unknown.join(', ')}`;
  throw invalidRequest(message, { code: 'parameter_unknown', param });
}

function unknownIn(value: FormValue, known: KnownParameters, path: string): readonly string[] {
  if (known === true || typeof value === 'string') return [];
  if (isFormList(value)) return value.flatMap((item, index) => unknownIn(item, known, `${path}[${index}]`));
  return Object.entries(value).flatMap(([name, inner]) => {
    const at = path === '' ? name : `${path}[${name}]`;
    const below = Object.hasOwn(known, name) ? known[name] : undefined;
    return below === undefined ? [at] : unknownIn(inner, below, at);
  });
}
