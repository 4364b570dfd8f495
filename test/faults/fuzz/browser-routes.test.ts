import { fuzzRoutes, isForMachines } from './fuzz-routes.ts';

await fuzzRoutes(route => !isForMachines(route));
