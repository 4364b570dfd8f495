import { StartError } from './start-error.ts';

/** Features and the packages that they need. The published gateway does not install these packages: most configurations lack the feature. */
const optionalPackages = {
  'AWS KMS': ['@aws-sdk/client-kms'],
  Stripe: ['stripe'],
  Traces: [
    '@opentelemetry/api',
    '@opentelemetry/core',
    '@opentelemetry/exporter-trace-otlp-http',
    '@opentelemetry/resources',
    '@opentelemetry/sdk-trace',
  ],
  Webhooks: ['bullmq'],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Loads code that needs optional packages. @throws StartError that says how to install them */
export async function withOptionalPackages<T>(user: keyof typeof optionalPackages, load: () => Promise<T>): Promise<T> {
  const packages: readonly string[] = optionalPackages[user];
  try {
    return await load();
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    const missing = isMissing ? packages.find(name => error.message.includes(`'${name}'`)) : undefined;
    if (missing === undefined) throw error;
    throw new StartError(
      `The package ${missing} is not installed. Needed by: ${user}. Install it with the gateway: npm install @postern/gateway ${packages.join(' ')}`,
    );
  }
}
