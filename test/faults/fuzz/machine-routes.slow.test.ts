import { describe } from 'vitest';
import { fuzzRoutes, isForMachines } from './fuzz-routes.ts';

describe('S44, S47: damaged requests to a route for machines', await fuzzRoutes(isForMachines));
