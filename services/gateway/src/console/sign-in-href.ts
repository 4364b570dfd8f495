/** Link that starts a sign-in, and returns to a page of the console. */
export function signInHref(to: string, fresh: boolean): string {
  return `/login?${new URLSearchParams({ to, ...(fresh ? { fresh: '1' } : {}) })}`;
}
