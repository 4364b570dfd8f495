/**
 * oidc-provider prints a warning when it is imported on a Node.js release without the LTS mark. It tells somebody who tries
 * the demo nothing, so exactly this line is left out. Imported before oidc-provider.
 */
const { warn } = console;
console.warn = (...args: unknown[]) => {
  if (!String(args[0]).includes('oidc-provider WARNING: Unsupported runtime')) warn(...args);
};
