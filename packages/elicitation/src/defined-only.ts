/** Returns the members that are not undefined, as `exactOptionalPropertyTypes` requires. */
export function definedOnly<T extends object>(value: T): DefinedOnly<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as DefinedOnly<T>;
}

type DefinedOnly<T> = { [K in keyof T as undefined extends T[K] ? never : K]: T[K] } & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};
