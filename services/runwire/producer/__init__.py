"""Publishing: records of runs into a deployment's raw streams. Docs: docs/clients.md."""

from runwire.producer.options import ProducerOptions
from runwire.producer.producer import Producer
from runwire.producer.publishing import Published
from runwire.producer.run import Call, Run
from runwire.producer.stats import ProducerStats

__all__ = ["Call", "Producer", "ProducerOptions", "ProducerStats", "Published", "Run"]
