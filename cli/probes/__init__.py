"""What `lakegate doctor` reads, and the causes that it recognises: a module for each part of the stack."""
