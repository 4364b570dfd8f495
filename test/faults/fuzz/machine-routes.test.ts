import { fuzzRoutes, isForMachines } from './fuzz-routes.ts';

await fuzzRoutes(isForMachines);
