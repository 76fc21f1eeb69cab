"""The documents between control plane and job, with one owner each: plan.json, request.json, result.json."""
