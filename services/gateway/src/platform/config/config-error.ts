export interface ConfigFault {
  readonly path: string;
  readonly message: string;
}

/** Thrown for an invalid configuration. Names every error by its path, never by its value. */
export class ConfigError extends Error {
  override name = 'ConfigError';
  readonly faults: readonly ConfigFault[];

  constructor(faults: readonly ConfigFault[]) {
    super(
      ['The configuration is invalid:', ...faults.map(fault => `  ${fault.path || '(file)'}: ${fault.message}`)].join(
        '\n',
      ),
    );
    this.faults = faults;
  }
}
