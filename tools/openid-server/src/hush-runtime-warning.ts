/**
 * Suppresses the warning that oidc-provider prints when it is imported on a Node.js release without the LTS mark: users of the
 * demo can do nothing about it. Must be imported before oidc-provider.
 */
const { warn } = console;
console.warn = (...args: unknown[]) => {
  if (!String(args[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...args);
};
