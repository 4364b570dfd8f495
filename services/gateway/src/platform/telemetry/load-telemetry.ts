import { withOptionalPackages } from '../start-error.ts';

/** @throws StartError if the packages for traces are not installed */
export const loadTelemetry = () => withOptionalPackages('Traces', () => import('./telemetry.ts'));
